// The sequence: what a pass is, where it stands, what may be forgotten. The layers' arithmetic is
// in sublayers.h.
#include "model/deepseek_model.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "model/drafter.h"
#include "model/sublayers.h"

namespace rota {
namespace {

Status bad_request(const std::string& message) { return {Code::kBadRequest, message}; }

// A quantised linear rounds its input in blocks of 32.
Status check_roundable(const Config& c) {
  const int tap_width = static_cast<int>(c.draft_targets.size()) * c.dim;
  for (const int n : {c.dim, c.q_lora, c.o_groups * c.o_lora, c.moe_inter,
                      c.engram_columns() * c.engram_head_dim, tap_width}) {
    if (n % 32 != 0) {
      return {Code::kUsage,
              "activation quantisation needs row lengths that are multiples of 32; this model has "
              "one of " +
                  std::to_string(n)};
    }
  }
  return {};
}

Status check_options(const Config& config, const ModelOptions& o) {
  if (o.ctx < 1)
    return {Code::kUsage,
            "context of " + std::to_string(o.ctx) + " positions: it must be at least 1"};
  if (o.max_rows < 1 || o.max_logit_rows < 1 || o.expert_step < 0) {
    return {Code::kUsage, "rows a pass (" + std::to_string(o.max_rows) +
                              ") and rows with logits (" + std::to_string(o.max_logit_rows) +
                              ") must be at least 1, a step (" + std::to_string(o.expert_step) +
                              ") at least 0"};
  }
  if (o.kv == KvKind::kPacked && !o.kv_quant) {
    return {Code::kUsage,
            "packed caches hold the codes of the caches' rounding, which is off: turn it on, or "
            "hold fp16 or fp32"};
  }
  return o.act_quant ? check_roundable(config) : Status();
}

}  // namespace

Status DeepSeekModel::prepare() {
  ROTA_RETURN_IF_ERROR(check_options(core_.config, core_.options));
  return core_.prepare();
}

Status DeepSeekModel::forward(std::span<const int> tokens, PassKind kind, RoutedExperts& experts,
                              int first_logit_row) {
  ROTA_RETURN_IF_ERROR(check_request(tokens, first_logit_row));
  const int rows = static_cast<int>(tokens.size()), first = position_;
  core_.dense_bytes = &core_.counters.dense_bytes;
  core_.last_rows = 0;
  const bool in_steps = kind == PassKind::kPrefill && core_.options.expert_step > 0;
  core_.expert_step = in_steps ? std::min(core_.options.expert_step, rows) : rows;
  // Slots are overwritten even if the pass fails.
  core_.caches.target.wrote_up_to(first + rows);
  core_.device.begin_pass(rows);
  experts.begin_pass(kind, rows);
  enter_stream(core_, tokens, first);
  for (int layer = 0; layer < core_.config.layers; ++layer)
    ROTA_RETURN_IF_ERROR(run_layer(layer, first, rows, experts));
  first_logit_row_ = first_logit_row;
  read_head(core_, rows, first_logit_row);
  ROTA_RETURN_IF_ERROR(core_.device.status());
  position_ = first + rows;
  core_.last_first = first;
  core_.last_rows = rows;
  return {};
}

int DeepSeekModel::logit_row(int row) const {
  ROTA_CHECK(row >= first_logit_row_ && row < core_.last_rows, "logits of row", row, "from",
             first_logit_row_, "of", core_.last_rows);
  return row - first_logit_row_;
}

const float* DeepSeekModel::logits(int row) const {
  return core_.buffers.host_logits.read(logit_row(row), 1);
}

int DeepSeekModel::best(int row) const {
  return core_.buffers.host_best[static_cast<size_t>(logit_row(row))];
}

const float* DeepSeekModel::draft_logits(int count) const {
  return core_.buffers.draft_logits.read(0, count);
}

Status DeepSeekModel::truncate(int position) {
  if (position < 0 || position > position_) {
    return bad_request("cannot go back to position " + std::to_string(position) + " of " +
                       std::to_string(position_));
  }
  Caches& caches = core_.caches;
  const int window_start = std::max(0, position + 1 - core_.config.window);
  const int draft_start = std::max(0, position - core_.config.window);
  const bool draft_back = position < draft_position_;
  if (position > 0 &&
      (!caches.target.holds(window_start) || (draft_back && !caches.draft.holds(draft_start)))) {
    return bad_request("cannot go back from position " + std::to_string(position_) + " to " +
                       std::to_string(position) + ": its window is no longer held");
  }
  position_ = position;
  draft_position_ = std::min(draft_position_, position);
  if (position == 0) caches.target.held_from = caches.draft.held_from = 0;
  return {};
}

Status DeepSeekModel::commit_draft_context(int rows) {
  if (!can_draft()) return bad_request("this model has no draft stages");
  const int offered = std::min(core_.last_rows, position_ - core_.last_first);
  if (draft_position_ != core_.last_first || rows < 1 || rows > offered) {
    return bad_request("draft context stands at " + std::to_string(draft_position_) +
                       "; the last pass offers " + std::to_string(std::max(offered, 0)) +
                       " rows from position " + std::to_string(core_.last_first) + ", not " +
                       std::to_string(rows));
  }
  core_.dense_bytes = &core_.counters.draft_dense_bytes;
  core_.caches.draft.wrote_up_to(draft_position_ + rows);
  extend_draft_context(core_, draft_position_, rows);
  ROTA_RETURN_IF_ERROR(core_.device.status());
  draft_position_ += rows;
  return {};
}

Status DeepSeekModel::draft(int next_token, int depth, RoutedExperts& draft_experts,
                            DraftPicker* picker, DraftOut* out) {
  const Config& c = core_.config;
  if (!can_draft()) return bad_request("this model has no draft stages");
  if (depth < 1 || depth > c.draft_block) {
    return bad_request("draft depth " + std::to_string(depth) + " is outside 1.." +
                       std::to_string(c.draft_block));
  }
  ROTA_RETURN_IF_ERROR(c.check_token(next_token));
  if (draft_position_ != position_) {
    return bad_request("draft context stands at " + std::to_string(draft_position_) +
                       ", the sequence at " + std::to_string(position_));
  }
  core_.dense_bytes = &core_.counters.draft_dense_bytes;
  ROTA_RETURN_IF_ERROR(run_draft(core_, next_token, position_, depth, draft_experts, picker));
  ROTA_RETURN_IF_ERROR(core_.device.status());
  const Buffers& b = core_.buffers;
  *out = {depth, b.draft_ids.data(), b.draft_conf.data()};
  return {};
}

Status DeepSeekModel::check_request(std::span<const int> tokens, int first_logit_row) const {
  const ModelOptions& o = core_.options;
  const size_t rows = tokens.size();
  if (rows == 0 || rows > static_cast<size_t>(o.max_rows)) {
    return bad_request("a pass of " + std::to_string(rows) + " rows: it must have 1.." +
                       std::to_string(o.max_rows));
  }
  const int count = static_cast<int>(rows);
  if (position_ + count > o.ctx) {
    return bad_request("context full: " + std::to_string(position_) + " positions held and " +
                       std::to_string(count) + " more asked, of " + std::to_string(o.ctx));
  }
  if (first_logit_row < 0 || first_logit_row > count ||
      count - first_logit_row > o.max_logit_rows) {
    return bad_request("logits of rows " + std::to_string(first_logit_row) + ".." +
                       std::to_string(count - 1) + ": at most the last " +
                       std::to_string(o.max_logit_rows) + " rows of a pass have them");
  }
  for (const int token : tokens) ROTA_RETURN_IF_ERROR(core_.config.check_token(token));
  return {};
}

Status DeepSeekModel::run_layer(int layer, int first, int rows, RoutedExperts& experts) {
  const Config& c = core_.config;
  const LayerWeights& w = core_.weights.layers[static_cast<size_t>(layer)];
  run_attention_half(core_, layer, first, rows);
  enter_sublayer(core_, w.hc_ffn, w.ffn_norm, rows);
  const bool guess = layer + 1 < c.layers && experts.wants_hints(layer + 1);
  const MoeSite site{w, layer, c.experts, c.top_k,
                     guess ? &core_.weights.layers[static_cast<size_t>(layer + 1)] : nullptr};
  ROTA_RETURN_IF_ERROR(mixture_of_experts(core_, site, rows, experts, &core_.counters.experts_ns));
  leave_sublayer(core_, rows, core_.buffers.shared_y);
  return {};
}

Result<std::unique_ptr<Model>> Model::load(WeightSource& source, Device& device,
                                           const ModelOptions& options) {
  auto model = std::make_unique<DeepSeekModel>(source, device, options);
  ROTA_RETURN_IF_ERROR(model->prepare());
  return std::unique_ptr<Model>(std::move(model));
}

}  // namespace rota
