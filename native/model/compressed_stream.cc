// The compressor and the indexer over it (V4.1 reference 2.4, 2.5).
#include <algorithm>
#include <cmath>

#include "model/sublayers.h"

namespace rota {

void extend_stream(Core& core, int layer, int first, int rows) {
  const Config& c = core.config;
  Device& device = core.device;
  Buffers& b = core.buffers;
  const LayerWeights& w = core.weights.layers[static_cast<size_t>(layer)];
  const CompressedStream& stream = core.caches.streams[static_cast<size_t>(layer)];
  const int ratio = stream.ratio, slots = core.caches.target.slots;
  const int first_group = first / ratio, groups = (first + rows) / ratio - first_group;
  if (ratio == 1) {
    core.linear(w.compress_kv, b.x, rows, b.kv);
  } else {
    core.linear_pair(w.compress_kv, w.compress_gate, b.x, rows, b.kv, b.gate);
    device.ring_write(b.kv, rows, c.head_dim, first, stream.open_kv, slots);
    device.ring_write(b.gate, rows, c.head_dim, first, stream.open_gate, slots);
    if (groups == 0) return;
    device.compress(stream.open_kv, stream.open_gate, slots, ratio, first_group, groups, c.head_dim,
                    b.kv);
  }
  device.rms(b.kv, w.compress_norm, groups, c.head_dim, c.rms_eps, b.kv);
  // The index key is made from the latent before its rotation.
  core.linear(w.index_k, b.kv, groups, b.index_k);
  const int pairs = c.rope_dim / 2;
  device.rms_rope(b.index_k, w.index_k_norm, groups, c.index_head_dim, c.rms_eps,
                  {core.compressed_freq, pairs}, first_group * ratio, ratio);
  device.rope(b.kv, groups, 1, c.head_dim, core.compressed_freq, pairs, first_group * ratio, ratio,
              false);
  core.store_keys(FakeQuant::kFp4E8m0Block32, b.index_k, groups, first_group, stream.index_keys,
                  stream.groups);
  core.store_keys(FakeQuant::kFp4E4m3Block16, b.kv, groups, first_group, stream.keys,
                  stream.groups);
}

void publish_selection(Core& core, int layer, int first, int rows) {
  const Config& c = core.config;
  Device& device = core.device;
  Buffers& b = core.buffers;
  const LayerWeights& w = core.weights.layers[static_cast<size_t>(layer)];
  const CompressedStream& stream = core.caches.streams[static_cast<size_t>(c.kv_owner(layer))];
  const int width = c.index_heads * c.index_head_dim;
  core.linear(w.index_q, core.as_quantised_input(b.q_latent, rows, c.q_lora), rows, b.index_q);
  device.rope(b.index_q, rows, c.index_heads, c.index_head_dim, core.compressed_freq,
              c.rope_dim / 2, first, 1, false);
  if (core.options.kv_quant) {
    device.fake_quant(FakeQuant::kFp4E8m0Block32, b.index_q,
                      static_cast<size_t>(rows) * static_cast<size_t>(width));
  }
  core.linear(w.index_weights, b.x, rows, b.index_weights);
  const float scale = 1.0f / std::sqrt(static_cast<float>(width));
  device.scale(b.index_weights, static_cast<size_t>(rows) * static_cast<size_t>(c.index_heads),
               scale);
  const bool makes_pool = layer == c.candidate_source;
  const bool uses_pool = c.candidate_source >= 0 && layer > c.candidate_source;
  for (int done = 0; done < rows; done += b.score_rows) {
    const size_t row = static_cast<size_t>(done);
    IndexArgs args;
    args.rows = std::min(b.score_rows, rows - done);
    args.heads = c.index_heads;
    args.head_dim = c.index_head_dim;
    args.first_position = first + done;
    args.ratio = stream.ratio;
    args.q = b.index_q + row * static_cast<size_t>(width);
    args.weights = b.index_weights + row * static_cast<size_t>(c.index_heads);
    args.keys = stream.index_keys;
    args.scores = b.scores;
    args.score_stride = b.score_stride;
    device.index_scores(args);
    const DevPtr<uint8_t> pool = b.pool + row * static_cast<size_t>(b.pool_stride);
    if (makes_pool)
      device.candidate_pool(args, c.candidate_block_size, c.candidate_blocks, pool, b.pool_stride);
    device.select_groups(args, uses_pool ? pool : DevPtr<uint8_t>(), b.pool_stride,
                         c.candidate_block_size, c.index_topk,
                         b.list + row * static_cast<size_t>(c.index_topk), c.index_topk,
                         b.list_count + row);
  }
}

}  // namespace rota
