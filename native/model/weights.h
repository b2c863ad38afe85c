// The dense weights of target and draft on the device, by their place in the graph. Owns no
// arithmetic; routed experts and Engram tables are not here.
#pragma once

#include <vector>

#include "device/device.h"
#include "model/device_memory.h"
#include "model/tensor_names.h"
#include "model/weight_source.h"

namespace rota {

using DevVector = DevPtr<const float>;

struct HcWeights {
  Matrix fn;              // [(2 + hc) * hc, hc * dim]
  DevVector base, scale;  // [(2 + hc) * hc], [3]
};

// One layer of the target or one draft stage; members outside a layer's role stay empty.
struct LayerWeights {
  HcWeights hc_attn, hc_ffn;
  DevVector attn_norm, q_norm, kv_norm, sinks, ffn_norm;
  Matrix q_a, q_b, kv, out_a, out_b;
  Matrix router, shared_gate, shared_up, shared_down;
  DevVector router_bias;
  // kv sources
  Matrix compress_kv, compress_gate, index_k;
  DevVector compress_norm, index_k_norm;
  // index sources
  Matrix index_q, index_weights;
  // engram layers
  Matrix engram_kv;
  DevVector engram_q, engram_k;
};

struct Weights {
  Matrix embed, head;
  DevVector norm;
  std::vector<LayerWeights> layers;
  // draft
  Matrix draft_fc, markov_embed, markov_head, confidence;
  DevVector draft_fc_norm, draft_norm;
  std::vector<LayerWeights> stages;
};

// Copies every dense tensor to the device.
Result<Weights> place_weights(const WeightSource& source, DeviceMemory& memory);

// How a matrix is computed with: rounded to the format that `rounded` makes of the stored one
// (nullptr: none), and then, for who computes with many rows, decoded once for all of them. The
// decoded values are the same, so no bit of a product differs.
struct MatrixForm {
  Format (*rounded)(Format stored) = nullptr;
  bool as_floats = false;
};
// The target alone, piece by piece: what no layer owns (`layers` has empty ones), and a layer.
Result<Weights> place_target_frame(const WeightSource& source, MatrixForm as, DeviceMemory& memory);
Result<LayerWeights> place_target_layer(const WeightSource& source, int layer, MatrixForm as,
                                        DeviceMemory& memory);

}  // namespace rota
