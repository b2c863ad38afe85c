// The parts of a layer (V4.1 reference 2.1 to 2.10) over the buffers of a Core. Each reads the
// stream's collapsed row in buffers.x and leaves its result in buffers.y. Target layers and draft
// stages share them.
#pragma once

#include <span>

#include "model/core.h"

namespace rota {

// What layers that hash see of the tokens at positions first ..
void remember_tokens(Core& core, std::span<const int> tokens, int first);
// Embeddings into the stream, and remember_tokens().
void enter_stream(Core& core, std::span<const int> tokens, int first);
// The first half of a target layer: Engram, draft tap, attention; then the stream stands before the
// layer's experts.
void run_attention_half(Core& core, int layer, int first, int rows);
// Logits of rows first_logit_row .. rows - 1 of the stream into buffers.host_logits, and which are
// the largest into buffers.host_best.
void read_head(Core& core, int rows, int first_logit_row);

// Coefficients of this sublayer from the stream; then x = RMS(stream collapsed with
// buffers.collapse). The new `pre` stays in buffers.pre until leave_sublayer: a sublayer collapses
// with its PREDECESSOR's.
void enter_sublayer(Core& core, const HcWeights& hc, DevVector norm, int rows);
// Adds buffers.y, and what is given besides, back into the stream and hands `pre` to the next
// sublayer.
void leave_sublayer(Core& core, int rows, DevPtr<const float> addend);

// Query, window key/value; leaves q not yet roped in buffers.q, kv roped and not yet rounded in
// buffers.kv.
void project_qkv(Core& core, const LayerWeights& w, DevVector freq, int first, int rows);
// args.q, sinks, out, sizes and scale are filled in; then attention of the roped
// q, inverse rotation and grouped output into buffers.y.
void attend(Core& core, const LayerWeights& w, DevVector freq, AttentionArgs args);
// Window attention plus, in layers with a ratio, the compressed stream of the layer's owner.
void target_attention(Core& core, int layer, int first, int rows);

// A kv source's stream grows by every group that rows first .. first + rows - 1 complete.
void extend_stream(Core& core, int layer, int first, int rows);
// An index source publishes buffers.list for its rows; the candidate source also publishes the
// pool.
void publish_selection(Core& core, int layer, int first, int rows);

// h += gate * value for the rows' n-grams; compressed ids of the rows must be in the history
// already.
void apply_engram(Core& core, int layer, int first, int rows);

struct MoeSite {
  const LayerWeights& w;
  int layer;  // as RoutedExperts counts: target layer or draft stage
  int experts, top_k;
  const LayerWeights* next = nullptr;  // its router is asked what layer + 1 may want; null at the
                                       // end or where no hint is wanted
};
// The router's answer to buffers.x, into buffers.host_ids and host_weights: there after the next
// finish_downloads().
void ask_router(Core& core, const MoeSite& site, DevVector selection_bias, int rows);
// The shared expert of buffers.x into buffers.shared_y.
void compute_shared_expert(Core& core, const LayerWeights& w, int rows);
// The routed experts into buffers.y, and the shared one: leave_sublayer adds it.
Status mixture_of_experts(Core& core, const MoeSite& site, int rows, RoutedExperts& routed,
                          uint64_t* experts_ns);

}  // namespace rota
