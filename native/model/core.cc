// Sizes and allocates what the parts of the forward pass share.
#include "model/core.h"

#include <algorithm>
#include <new>
#include <string>

#include "model/rope_table.h"

namespace rota {
namespace {

// Scores of a whole prompt against a long context would be gigabytes: rows are scored in bands of
// this many bytes.
constexpr size_t kScoreBytes = size_t{64} << 20;

size_t area(int rows, int columns) {
  return static_cast<size_t>(rows) * static_cast<size_t>(columns);
}

int smallest_ratio(const Config& config) {
  int smallest = 0;
  for (const int layer : config.kv_source) {
    const int ratio = config.ratios[static_cast<size_t>(layer)];
    smallest = smallest == 0 ? ratio : std::min(smallest, ratio);
  }
  return std::max(smallest, 1);
}

void size_selection(const Config& c, int ctx, int rows, DeviceMemory& memory, Buffers* b) {
  b->score_stride = ctx / smallest_ratio(c);
  const size_t row_bytes = static_cast<size_t>(std::max(b->score_stride, 1)) * sizeof(float);
  b->score_rows =
      static_cast<int>(std::clamp<size_t>(kScoreBytes / row_bytes, 1, static_cast<size_t>(rows)));
  b->scores = memory.take<float>(area(b->score_rows, b->score_stride), "index scores");
  b->index_q = memory.take<float>(area(rows, c.index_heads * c.index_head_dim), "index queries");
  b->index_weights = memory.take<float>(area(rows, c.index_heads), "index weights");
  b->index_k = memory.take<float>(area(rows, c.index_head_dim), "index keys");
  b->list = memory.take<int>(area(rows, c.index_topk), "selection");
  b->list_count = memory.take<int>(static_cast<size_t>(rows), "selection");
  if (c.candidate_source >= 0) {
    const int64_t whole = int64_t{b->score_stride} + c.candidate_block_size - 1;
    b->pool_stride = static_cast<int>(whole / c.candidate_block_size);
    b->pool = memory.take<uint8_t>(area(rows, b->pool_stride), "candidate pool");
  }
}

void size_attention_and_moe(const Config& c, int rows, DeviceMemory& memory, Buffers* b) {
  const int hc = c.hc_mult, heads = c.heads * c.head_dim, grouped = c.o_groups * c.o_lora;
  b->h = memory.take<float>(area(rows, hc * c.dim), "stream");
  b->collapse = memory.take<float>(area(rows, hc), "stream");
  b->mix = memory.take<float>(area(rows, c.hc_coefficients()), "stream");
  b->pre = memory.take<float>(area(rows, hc), "stream");
  b->post = memory.take<float>(area(rows, hc), "stream");
  b->comb = memory.take<float>(area(rows, hc * hc), "stream");
  b->x = memory.take<float>(area(rows, c.dim), "activations");
  b->y = memory.take<float>(area(rows, c.dim), "activations");
  b->q_latent = memory.take<float>(area(rows, c.q_lora), "activations");
  b->q = memory.take<float>(area(rows, heads), "activations");
  b->attended = memory.take<float>(area(rows, heads), "activations");
  b->grouped = memory.take<float>(area(rows, grouped), "activations");
  b->kv = memory.take<float>(area(rows, c.head_dim), "activations");
  b->gate = memory.take<float>(area(rows, c.head_dim), "activations");
  const int experts = std::max(c.experts, c.draft_experts),
            top_k = std::max(c.top_k, c.draft_top_k);
  b->router = memory.take<float>(area(rows, experts), "router");
  b->selection_bias = memory.take<float>(static_cast<size_t>(experts), "router");
  b->expert_ids = memory.take<int>(area(rows, top_k), "router");
  b->expert_weights = memory.take<float>(area(rows, top_k), "router");
  b->shared_gate = memory.take<float>(area(rows, c.moe_inter), "shared expert");
  b->shared_up = memory.take<float>(area(rows, c.moe_inter), "shared expert");
  b->shared_y = memory.take<float>(area(rows, c.dim), "shared expert");
  const int columns = c.engram_columns() * c.engram_head_dim;
  b->engram_e = memory.take<float>(area(rows, columns), "engram");
  b->engram_kv = memory.take<float>(area(rows, (hc + 1) * c.dim), "engram");
  const int taps = static_cast<int>(c.draft_targets.size()) * c.dim;
  b->taps = memory.take<float>(area(rows, taps), "draft taps");
  const int widest = std::max({c.dim, c.q_lora, grouped, c.moe_inter, columns, taps});
  b->rounded = memory.take<float>(area(rows, widest), "activations");
}

void size_heads(const Config& c, int logit_rows, DeviceMemory& memory, Buffers* b) {
  b->head_in = memory.take<float>(area(logit_rows, c.dim), "head");
  b->logits = memory.take<float>(area(logit_rows, c.vocab), "logits");
  b->best = memory.take<int>(static_cast<size_t>(logit_rows), "head");
  if (c.draft_stages == 0) return;
  b->draft_x = memory.take<float>(area(c.draft_block, c.dim), "draft");
  b->draft_base = memory.take<float>(area(c.draft_block, c.vocab), "draft logits");
  b->markov = memory.take<float>(area(c.draft_block, c.dim + c.markov_rank), "draft");
  b->markov_logits = memory.take<float>(static_cast<size_t>(c.vocab), "draft");
  b->confidence = memory.take<float>(static_cast<size_t>(c.draft_block), "draft");
  b->drafted = memory.take<int>(static_cast<size_t>(c.draft_block), "draft");
}

// The host's sides of what crosses; each is no larger than its counterpart on the device.
Status size_host_sides(const Config& c, int rows, int logit_rows, Device& device, Buffers* b) {
  try {
    const int top_k = std::max(c.top_k, c.draft_top_k);
    b->host_ids.resize(area(rows, top_k));
    b->host_hint.resize(area(rows, top_k));
    b->host_weights.resize(area(rows, top_k));
    b->host_e.resize(area(rows, c.engram_columns() * c.engram_head_dim));
    b->engram_rows.resize(static_cast<size_t>(c.engram_columns()));
    b->host_logits.resize(device, logit_rows, c.vocab);
    b->host_best.resize(static_cast<size_t>(logit_rows));
    b->draft_logits.resize(device, c.draft_block, c.vocab);
    b->draft_conf.resize(static_cast<size_t>(c.draft_block));
    b->draft_ids.resize(static_cast<size_t>(c.draft_block));
    if (device.in_host_memory()) return {};
    // What enters and leaves experts that the host computes.
    b->host_x.resize(area(rows, c.dim));
    b->host_y.resize(area(rows, c.dim));
  } catch (const std::bad_alloc&) {
    return {Code::kOutOfMemory, "host buffers of a pass of " + std::to_string(rows) +
                                    " rows: cannot allocate their memory"};
  }
  return {};
}

int widest_pass(const Config& config, const ModelOptions& options) {
  return std::max(options.max_rows, config.draft_block);
}

// Activations of the widest pass.
void size_buffers(const Config& config, const ModelOptions& options, DeviceMemory& memory,
                  Buffers* buffers) {
  const int rows = widest_pass(config, options);
  size_attention_and_moe(config, rows, memory, buffers);
  if (!config.kv_source.empty()) size_selection(config, options.ctx, rows, memory, buffers);
  size_heads(config, options.max_logit_rows, memory, buffers);
}

}  // namespace

ModelBytes model_bytes(const Config& config, const ModelOptions& options) {
  DeviceMemory caches, activations;
  place_caches(config, options, caches);
  Buffers buffers;
  size_buffers(config, options, activations, &buffers);
  return {caches.bytes(), activations.bytes()};
}

Core::Core(WeightSource& weight_source, Device& dev, const ModelOptions& opts)
    : source(weight_source),
      device(dev),
      config(weight_source.config()),
      options(opts),
      weight_memory(dev),
      cache_memory(dev),
      buffer_memory(dev) {}

Status Core::prepare() {
  ROTA_ASSIGN_OR_RETURN(weights, place_weights(source, weight_memory));
  return prepare_working_memory();
}

Status Core::prepare_working_memory() {
  caches = place_caches(config, options, cache_memory);
  ROTA_RETURN_IF_ERROR(cache_memory.status());
  ROTA_ASSIGN_OR_RETURN(
      caches.compressed_ids,
      AlignedBuffer::allocate(static_cast<size_t>(options.ctx) * sizeof(int32_t)));
  const int rows = widest_pass(config, options);
  size_buffers(config, options, buffer_memory, &buffers);
  const std::vector<float> window = window_frequencies(config);
  window_freq = buffer_memory.take_copy(window.data(), window.size(), "rotation");
  const std::vector<float> compressed = compressed_frequencies(config);
  compressed_freq = buffer_memory.take_copy(compressed.data(), compressed.size(), "rotation");
  std::vector<float> first(area(rows, config.hc_mult), 0.0f);
  for (size_t r = 0; r < first.size(); r += static_cast<size_t>(config.hc_mult)) first[r] = 1.0f;
  first_copy = buffer_memory.take_copy(first.data(), first.size(), "stream");
  ROTA_RETURN_IF_ERROR(buffer_memory.status());
  ScratchSizes scratch;
  scratch.heads = config.heads, scratch.head_dim = config.head_dim;
  scratch.keys = config.window + std::max(config.index_topk, config.draft_block);
  scratch.index_heads = config.index_heads, scratch.index_head_dim = config.index_head_dim;
  scratch.groups = buffers.score_stride, scratch.blocks = buffers.pool_stride;
  scratch.stream_rows = rows, scratch.stream_dim = config.dim;
  scratch.experts = std::max(config.experts, config.draft_experts);
  ROTA_RETURN_IF_ERROR(device.reserve_scratch(scratch));
  // What was uploaded is there.
  ROTA_RETURN_IF_ERROR(device.status());
  return size_host_sides(config, rows, options.max_logit_rows, device, &buffers);
}

void Core::linear(const Matrix& w, DevPtr<const float> x, int rows, DevPtr<float> y) {
  *dense_bytes += w.bytes;
  device.linear(w, x, rows, y);
}

void Core::linear_pair(const Matrix& first, const Matrix& second, DevPtr<const float> x, int rows,
                       DevPtr<float> y_first, DevPtr<float> y_second) {
  *dense_bytes += first.bytes + second.bytes;
  device.linear_pair(first, second, x, rows, y_first, y_second);
}

void Core::store_keys(FakeQuant rounding, DevPtr<float> x, int rows, int first, const KeyRows& keys,
                      int slots) {
  if (options.kv_quant && !is_packed(keys.format)) {
    device.fake_quant(rounding, x, area(rows, keys.dim));
  }
  device.store_keys(x, rows, first, keys, slots);
}

DevPtr<const float> Core::as_quantised_input(DevPtr<const float> x, int rows, int n) {
  if (!options.act_quant) return x;
  const size_t count = area(rows, n);
  device.copy(buffers.rounded.address(), x.address(), count * sizeof(float));
  device.fake_quant(FakeQuant::kFp8Block32, buffers.rounded, count);
  return buffers.rounded;
}

}  // namespace rota
