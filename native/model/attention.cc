// The attention sublayer: projections, the keys a row sees, grouped output (V4.1
// reference 2.3, 2.6, 2.7).
#include <cmath>

#include "model/sublayers.h"

namespace rota {

void project_qkv(Core& core, const LayerWeights& w, DevVector freq, int first, int rows) {
  const Config& c = core.config;
  Buffers& b = core.buffers;
  const DevPtr<const float> in = core.as_quantised_input(b.x, rows, c.dim);
  core.linear_pair(w.q_a, w.kv, in, rows, b.q_latent, b.kv);
  core.device.rms(b.q_latent, w.q_norm, rows, c.q_lora, c.rms_eps, b.q_latent);
  core.linear(w.q_b, core.as_quantised_input(b.q_latent, rows, c.q_lora), rows, b.q);
  core.device.rms_rope(b.kv, w.kv_norm, rows, c.head_dim, c.rms_eps, {freq, c.rope_dim / 2}, first,
                       1);
}

void attend(Core& core, const LayerWeights& w, DevVector freq, AttentionArgs args) {
  const Config& c = core.config;
  Buffers& b = core.buffers;
  args.heads = c.heads;
  args.head_dim = c.head_dim;
  args.window = c.window;
  args.scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
  args.q = b.q;
  args.sinks = w.sinks;
  args.out = b.attended;
  core.device.rotated_attention(args, b.q, {freq, c.rope_dim / 2});
  *core.dense_bytes += w.out_a.bytes;
  core.device.grouped_linear(w.out_a, c.o_groups, b.attended, args.rows, b.grouped);
  core.linear(w.out_b, core.as_quantised_input(b.grouped, args.rows, c.o_groups * c.o_lora),
              args.rows, b.y);
}

void target_attention(Core& core, int layer, int first, int rows) {
  const Config& c = core.config;
  Buffers& b = core.buffers;
  const LayerWeights& w = core.weights.layers[static_cast<size_t>(layer)];
  const KeyRows& window = core.caches.windows[static_cast<size_t>(layer)];
  const int owner = c.kv_owner(layer), slots = core.caches.target.slots;
  const DevVector freq = owner >= 0 ? core.compressed_freq : core.window_freq;
  project_qkv(core, w, freq, first, rows);
  core.store_keys(FakeQuant::kFp8Block32, b.kv, rows, first, window, slots);
  AttentionArgs args;
  args.rows = rows;
  args.first_position = first;
  args.ring = window;
  args.ring_slots = slots;
  if (owner >= 0) {
    if (owner == layer) extend_stream(core, layer, first, rows);
    if (c.owns_index(layer)) publish_selection(core, layer, first, rows);
    args.listed_keys = core.caches.streams[static_cast<size_t>(owner)].keys;
    args.list = b.list;
    args.list_count = b.list_count;
    args.list_stride = c.index_topk;
  }
  attend(core, w, freq, args);
}

}  // namespace rota
