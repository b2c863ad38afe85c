// Copies the dense tensors of a WeightSource to a device.
#include "model/weights.h"

namespace rota {
namespace {

class Placer {
 public:
  Placer(const WeightSource& source, DeviceMemory& memory, bool draft, MatrixForm as = {})
      : source_(source), memory_(memory), draft_(draft), as_(as) {}

  Matrix matrix(Role role, int layer) const {
    const WeightTensor& t = tensor(role, layer);
    const int out = static_cast<int>(t.ne[1]), in = static_cast<int>(t.ne[0]);
    const size_t weights = t.ne[0] * t.ne[1];
    Format format = as_.rounded == nullptr ? t.format : as_.rounded(t.format);
    const uint8_t* data = t.data;
    size_t size = t.bytes;
    std::vector<uint8_t> made;
    if (format != t.format) {
      made = transcoded(t.format, t.data, format, weights);
      data = made.data(), size = made.size();
    }
    if (as_.as_floats && format != Format::kF32) {
      made = transcoded(format, data, Format::kF32, weights);
      format = Format::kF32, data = made.data(), size = made.size();
    }
    return memory_.take_matrix(format, out, in, data, size, role_suffix(role));
  }
  DevVector vector(Role role, int layer) const {
    const WeightTensor& t = tensor(role, layer);
    return memory_.take_copy(t.f32(), t.ne[0] * t.ne[1], role_suffix(role));
  }

 private:
  const WeightTensor& tensor(Role role, int layer) const {
    return draft_ ? source_.draft(role, layer) : source_.target(role, layer);
  }

  const WeightSource& source_;
  DeviceMemory& memory_;
  bool draft_;
  MatrixForm as_;
};

// What the layers of the target and the draft stages have in common.
LayerWeights place_block(const Placer& place, int layer) {
  LayerWeights w;
  w.hc_attn = {place.matrix(Role::kHcAttnFn, layer), place.vector(Role::kHcAttnBase, layer),
               place.vector(Role::kHcAttnScale, layer)};
  w.hc_ffn = {place.matrix(Role::kHcFfnFn, layer), place.vector(Role::kHcFfnBase, layer),
              place.vector(Role::kHcFfnScale, layer)};
  w.attn_norm = place.vector(Role::kAttnNorm, layer);
  w.q_a = place.matrix(Role::kAttnQA, layer);
  w.q_norm = place.vector(Role::kAttnQANorm, layer);
  w.q_b = place.matrix(Role::kAttnQB, layer);
  w.kv = place.matrix(Role::kAttnKv, layer);
  w.kv_norm = place.vector(Role::kAttnKvNorm, layer);
  w.sinks = place.vector(Role::kAttnSinks, layer);
  w.out_a = place.matrix(Role::kAttnOutA, layer);
  w.out_b = place.matrix(Role::kAttnOutB, layer);
  w.ffn_norm = place.vector(Role::kFfnNorm, layer);
  w.router = place.matrix(Role::kRouter, layer);
  w.router_bias = place.vector(Role::kRouterBias, layer);
  w.shared_gate = place.matrix(Role::kSharedGate, layer);
  w.shared_up = place.matrix(Role::kSharedUp, layer);
  w.shared_down = place.matrix(Role::kSharedDown, layer);
  return w;
}

LayerWeights place_layer(const Placer& place, const Config& config, int layer) {
  LayerWeights w = place_block(place, layer);
  if (config.owns_kv(layer)) {
    w.compress_kv = place.matrix(Role::kCompressorKv, layer);
    if (config.ratios[static_cast<size_t>(layer)] > 1)
      w.compress_gate = place.matrix(Role::kCompressorGate, layer);
    w.compress_norm = place.vector(Role::kCompressorNorm, layer);
    w.index_k = place.matrix(Role::kIndexK, layer);
    w.index_k_norm = place.vector(Role::kIndexKNorm, layer);
  }
  if (config.owns_index(layer)) {
    w.index_q = place.matrix(Role::kIndexQB, layer);
    w.index_weights = place.matrix(Role::kIndexWeights, layer);
  }
  if (config.engram_index(layer) >= 0) {
    w.engram_kv = place.matrix(Role::kEngramWkv, layer);
    w.engram_q = place.vector(Role::kEngramQ, layer);
    w.engram_k = place.vector(Role::kEngramK, layer);
  }
  return w;
}

Weights place_frame(const Placer& place) {
  Weights w;
  w.embed = place.matrix(Role::kTokenEmbd, -1);
  w.norm = place.vector(Role::kOutputNorm, -1);
  w.head = place.matrix(Role::kOutput, -1);
  return w;
}

}  // namespace

Result<Weights> place_target_frame(const WeightSource& source, MatrixForm as,
                                   DeviceMemory& memory) {
  Weights w = place_frame(Placer(source, memory, false, as));
  w.layers.resize(static_cast<size_t>(source.config().layers));
  if (!memory.status().ok()) return memory.status();
  return w;
}

Result<LayerWeights> place_target_layer(const WeightSource& source, int layer, MatrixForm as,
                                        DeviceMemory& memory) {
  LayerWeights w = place_layer(Placer(source, memory, false, as), source.config(), layer);
  if (!memory.status().ok()) return memory.status();
  return w;
}

Result<Weights> place_weights(const WeightSource& source, DeviceMemory& memory) {
  const Config& config = source.config();
  const Placer target(source, memory, false);
  Weights w = place_frame(target);
  for (int layer = 0; layer < config.layers; ++layer)
    w.layers.push_back(place_layer(target, config, layer));
  if (source.has_draft()) {
    const Placer draft(source, memory, true);
    w.draft_fc = draft.matrix(Role::kDraftFc, -1);
    w.draft_fc_norm = draft.vector(Role::kDraftFcNorm, -1);
    w.draft_norm = draft.vector(Role::kOutputNorm, -1);
    w.markov_embed = draft.matrix(Role::kMarkovEmbed, -1);
    w.markov_head = draft.matrix(Role::kMarkovHead, -1);
    w.confidence = draft.matrix(Role::kConfidence, -1);
    for (int stage = 0; stage < config.draft_stages; ++stage)
      w.stages.push_back(place_block(draft, stage));
  }
  if (!memory.status().ok()) return memory.status();
  return w;
}

}  // namespace rota
