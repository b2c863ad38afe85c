// What the parts of the forward pass share: device, weights, caches, activation buffers, counters.
// Owns their lifetime and the one door to every dense matrix; knows no order of layers.
#pragma once

#include <cstdint>
#include <vector>

#include "model/caches.h"
#include "model/device_memory.h"
#include "model/host_rows.h"
#include "model/model.h"
#include "model/weights.h"

namespace rota {

// Activations of one pass, sized once for the most rows. Shapes in floats unless said.
struct Buffers {
  DevPtr<float> h;         // [rows, hc, dim], the stream
  DevPtr<float> collapse;  // [rows, hc], weights with which the NEXT sublayer collapses the stream
  DevPtr<float> mix, pre, post,
      comb;               // [rows, (2 + hc) hc], [rows, hc], [rows, hc], [rows, hc, hc]
  DevPtr<float> x, y;     // [rows, dim], a sublayer's input and output
  DevPtr<float> rounded;  // [rows, widest], a linear's input after activation quantisation
  DevPtr<float> q_latent, q, attended,
      grouped;             // [rows, q_lora], [rows, heads, head_dim] twice, [rows, groups * o_lora]
  DevPtr<float> kv, gate;  // [rows, head_dim]
  DevPtr<float> index_k;   // [rows, index dim]
  DevPtr<float> index_q, index_weights;  // [rows, index heads, index dim], [rows, index heads]
  DevPtr<float> scores;                  // [score_rows, score_stride]
  int score_rows = 0, score_stride = 0;
  DevPtr<uint8_t> pool;  // [rows, pool_stride], 1 where a block is in the candidate pool
  int pool_stride = 0;
  DevPtr<int> list, list_count;  // [rows, index_topk], [rows]: the last published selection
  DevPtr<float> router;          // [rows, experts]
  DevPtr<float> selection_bias;  // [experts]
  DevPtr<int> expert_ids;        // [rows, top_k]
  DevPtr<float> expert_weights;  // [rows, top_k]
  DevPtr<float> shared_gate, shared_up, shared_y;  // [rows, moe_inter] twice, [rows, dim]
  DevPtr<float> engram_e, engram_kv;    // [rows, columns * engram dim], [rows, (hc + 1) dim]
  DevPtr<float> taps;                   // [rows, targets, dim], of the last forward()
  DevPtr<float> head_in, logits;        // [logit rows, dim], [logit rows, vocab]
  DevPtr<int> best;                     // [logit rows]
  DevPtr<float> draft_x, draft_base;    // [block, dim], [block, vocab]
  DevPtr<float> markov, markov_logits;  // [block, dim + rank] with the embedding last, [vocab]
  DevPtr<float> confidence;             // [block]
  DevPtr<int> drafted;                  // [block]
  // Host sides of what crosses.
  std::vector<float> host_e, host_weights, draft_conf;
  HostRows host_logits, draft_logits;
  std::vector<float> host_x, host_y;     // [rows, dim], of experts that are computed on the host
  std::vector<int> host_ids, host_hint;  // host_hint: of the next layer's router
  std::vector<int> host_best, draft_ids;
  std::vector<int64_t> engram_rows;
};

struct Core {
  Core(WeightSource& weight_source, Device& dev, const ModelOptions& opts);
  // Allocates everything; the first failure is returned.
  Status prepare();
  // The same without the weights: for who brings them layer by layer.
  Status prepare_working_memory();

  // y[rows, out] = x W^T, counted. Not rounded: for linears the release keeps in bf16.
  void linear(const Matrix& w, DevPtr<const float> x, int rows, DevPtr<float> y);
  // Both over one x.
  void linear_pair(const Matrix& first, const Matrix& second, DevPtr<const float> x, int rows,
                   DevPtr<float> y_first, DevPtr<float> y_second);
  // x[rows, n] as a quantised linear sees it: itself, or rounded into buffers.rounded with
  // activation quantisation. Valid until the next call.
  DevPtr<const float> as_quantised_input(DevPtr<const float> x, int rows, int n);
  // Rounds x[rows, keys.dim] as `rounding` says and holds it at rows (first + r) % slots of `keys`:
  // packed keys are the rounding's own codes. x is left rounded or as it was.
  void store_keys(FakeQuant rounding, DevPtr<float> x, int rows, int first, const KeyRows& keys,
                  int slots);

  WeightSource& source;
  Device& device;
  const Config& config;
  ModelOptions options;
  DeviceMemory weight_memory, cache_memory, buffer_memory;
  Weights weights;
  Caches caches;
  Buffers buffers;
  DevVector window_freq, compressed_freq;
  DevVector first_copy;  // [rows, hc] of (1, 0, 0, ..): how the first sublayer collapses
  ModelCounters counters;
  uint64_t* dense_bytes = &counters.dense_bytes;  // where linear() counts now
  int last_first = 0, last_rows = 0;              // rows whose taps are in buffers
  int expert_step = 0;  // most rows for which a layer's experts run at once in this pass
};

}  // namespace rota
