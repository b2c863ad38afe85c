// What is carried, and the two halves of a layer around it.
#include "model/layer_pass.h"

#include "base/check.h"
#include "model/sublayers.h"

namespace rota {
namespace {

size_t floats(int rows, int columns) {
  return static_cast<size_t>(rows) * static_cast<size_t>(columns) * sizeof(float);
}

}  // namespace

// Whole buffers, whatever rows are in use: a stretch's bytes are then the same at every layer.
template <typename Visit>
void LayerPass::for_each_carried(bool middle, const Visit& visit) {
  const Config& c = core_.config;
  const int rows = core_.options.max_rows;
  Buffers& b = core_.buffers;
  visit(b.h.address(), floats(rows, c.hc_mult * c.dim));
  visit(b.collapse.address(), floats(rows, c.hc_mult));
  // Of the sublayer that is open in the middle; `pre` becomes `collapse` at its end.
  const size_t own[] = {floats(rows, c.hc_mult), floats(rows, c.hc_mult),
                        floats(rows, c.hc_mult * c.hc_mult), floats(rows, c.dim)};
  float* const at[] = {b.pre.address(), b.post.address(), b.comb.address(), b.x.address()};
  for (size_t i = 0; i < 4; ++i) visit(middle ? at[i] : nullptr, own[i]);
  if (c.kv_source.empty()) return;
  visit(b.list.address(), floats(rows, c.index_topk));
  visit(b.list_count.address(), floats(rows, 1));
  if (c.candidate_source >= 0) {
    visit(b.pool.address(), static_cast<size_t>(rows) * static_cast<size_t>(b.pool_stride));
  }
  for (const int owner : c.kv_source) {
    const CompressedStream& stream = core_.caches.streams[static_cast<size_t>(owner)];
    for (const KeyRows* keys : {&stream.keys, &stream.index_keys}) {
      visit(keys->data.address(), static_cast<size_t>(stream.groups) * keys->row_bytes());
    }
  }
}

size_t LayerPass::carried_bytes() const {
  size_t sum = 0;
  const_cast<LayerPass*>(this)->for_each_carried(
      true, [&sum](const void*, size_t bytes) { sum += bytes; });
  return sum;
}

void LayerPass::save(bool middle, uint8_t* carried) {
  for_each_carried(middle, [&](const void* at, size_t bytes) {
    if (at != nullptr) core_.device.download(carried, at, bytes);
    carried += bytes;
  });
}

void LayerPass::restore(bool middle, const uint8_t* carried) {
  for_each_carried(middle, [&](void* at, size_t bytes) {
    if (at != nullptr) core_.device.upload(at, carried, bytes);
    carried += bytes;
  });
}

Result<std::unique_ptr<LayerPass>> LayerPass::load(WeightSource& source, Device& device,
                                                   const Options& o) {
  ModelOptions options;
  options.ctx = options.max_rows = o.rows;
  options.max_logit_rows = o.logit_rows;
  std::unique_ptr<LayerPass> pass(new LayerPass(source, device, options, o.as));
  Core& core = pass->core_;
  ROTA_ASSIGN_OR_RETURN(core.weights, place_target_frame(source, o.as, core.weight_memory));
  ROTA_RETURN_IF_ERROR(core.prepare_working_memory());
  core.expert_step = o.rows;
  pass->x_.resize(static_cast<size_t>(o.rows) * static_cast<size_t>(core.config.dim));
  return pass;
}

Status LayerPass::begin(std::span<const int> tokens, uint8_t* carried) {
  if (tokens.empty() || tokens.size() > static_cast<size_t>(core_.options.max_rows)) {
    return {Code::kBadRequest, "a stretch of " + std::to_string(tokens.size()) +
                                   " tokens: it must have 1.." +
                                   std::to_string(core_.options.max_rows)};
  }
  for (const int token : tokens) ROTA_RETURN_IF_ERROR(core_.config.check_token(token));
  enter_stream(core_, tokens, 0);
  save(false, carried);
  return {};
}

Status LayerPass::enter(int layer) {
  const auto at = [this](int which) -> LayerWeights& {
    return core_.weights.layers[static_cast<size_t>(which)];
  };
  if (layer_ >= 0) at(layer_) = {};
  layer_memory_.emplace(core_.device);
  ROTA_ASSIGN_OR_RETURN(at(layer), place_target_layer(core_.source, layer, as_, *layer_memory_));
  layer_ = layer;
  return {};
}

Result<LayerPass::Routed> LayerPass::attend(std::span<const int> tokens, uint8_t* carried) {
  ROTA_CHECK(layer_ >= 0, "no layer was entered");
  const Config& c = core_.config;
  const LayerWeights& w = core_.weights.layers[static_cast<size_t>(layer_)];
  const int rows = static_cast<int>(tokens.size());
  restore(false, carried);
  remember_tokens(core_, tokens, 0);
  run_attention_half(core_, layer_, 0, rows);
  enter_sublayer(core_, w.hc_ffn, w.ffn_norm, rows);
  ask_router(core_, {w, layer_, c.experts, c.top_k}, {}, rows);
  core_.device.download(x_.data(), core_.buffers.x.address(), floats(rows, c.dim));
  save(true, carried);
  return Routed{x_.data(), core_.buffers.host_ids.data(), core_.buffers.host_weights.data()};
}

void LayerPass::finish(int rows, const float* y, uint8_t* carried) {
  const LayerWeights& w = core_.weights.layers[static_cast<size_t>(layer_)];
  restore(true, carried);
  core_.device.upload(core_.buffers.y.address(), y, floats(rows, core_.config.dim));
  compute_shared_expert(core_, w, rows);
  leave_sublayer(core_, rows, core_.buffers.shared_y);
  save(false, carried);
}

const float* LayerPass::logits(int rows, int first_row, const uint8_t* carried) {
  restore(false, carried);
  read_head(core_, rows, first_row);
  return core_.buffers.host_logits.read(0, rows - first_row);
}

}  // namespace rota
