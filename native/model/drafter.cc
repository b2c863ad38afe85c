// DSpark: the draft stages and the sequential correction of their logits.
#include "model/drafter.h"

#include <algorithm>

#include "model/sublayers.h"

namespace rota {
namespace {

// Greedy: the largest logit, lowest id on ties.
int largest(const float* logits, int vocab) {
  return static_cast<int>(std::max_element(logits, logits + vocab) - logits);
}

// The stages over [next_token, noise, noise, ...]: every row sees the context and the whole block.
Status run_stages(Core& core, int next_token, int position, RoutedExperts& experts) {
  const Config& c = core.config;
  Device& device = core.device;
  Buffers& b = core.buffers;
  const int rows = c.draft_block;
  std::fill(b.draft_ids.begin(), b.draft_ids.end(), c.draft_noise_id);
  b.draft_ids[0] = next_token;
  device.gather(core.weights.embed, b.draft_ids.data(), rows, b.x);
  *core.dense_bytes +=
      core.weights.embed.bytes / static_cast<size_t>(c.vocab) * static_cast<size_t>(rows);
  device.hc_copy(b.x, rows, c.hc_mult, c.dim, b.h);
  device.copy(b.collapse.address(), core.first_copy.address(),
              static_cast<size_t>(rows * c.hc_mult) * sizeof(float));
  for (int stage = 0; stage < c.draft_stages; ++stage) {
    const LayerWeights& w = core.weights.stages[static_cast<size_t>(stage)];
    enter_sublayer(core, w.hc_attn, w.attn_norm, rows);
    project_qkv(core, w, core.window_freq, position, rows);
    // The block's keys are rounded like cached ones and held nowhere.
    if (core.options.kv_quant) {
      device.fake_quant(FakeQuant::kFp8Block32, b.kv,
                        static_cast<size_t>(rows) * static_cast<size_t>(c.head_dim));
    }
    AttentionArgs args;
    args.rows = rows;
    args.first_position = position;
    args.causal = false;
    args.ring = core.caches.draft_contexts[static_cast<size_t>(stage)];
    args.ring_slots = core.caches.draft.slots;
    args.block = b.kv;
    args.block_rows = rows;
    attend(core, w, core.window_freq, args);
    leave_sublayer(core, rows);
    enter_sublayer(core, w.hc_ffn, w.ffn_norm, rows);
    const MoeSite site{w, stage, c.draft_experts, c.draft_top_k};
    ROTA_RETURN_IF_ERROR(
        mixture_of_experts(core, site, rows, experts, &core.counters.draft_experts_ns));
    leave_sublayer(core, rows);
  }
  device.hc_collapse(b.h, b.collapse, rows, c.hc_mult, c.dim, b.draft_x);
  return {};
}

// Adds the Markov term of `previous` to row i of the base logits and brings logits and confidence
// to the host.
void correct(Core& core, int i, int previous) {
  const Config& c = core.config;
  Device& device = core.device;
  Buffers& b = core.buffers;
  const size_t dim = static_cast<size_t>(c.dim), vocab = static_cast<size_t>(c.vocab),
               row = static_cast<size_t>(i);
  // The confidence reads [x ; embedding], x before the norm.
  device.copy(b.markov.address(), (b.draft_x + row * dim).address(), dim * sizeof(float));
  device.gather(core.weights.markov_embed, &previous, 1, b.markov + dim);
  *core.dense_bytes += core.weights.markov_embed.bytes / vocab;
  core.linear(core.weights.markov_head, b.markov + dim, 1, b.markov_logits);
  device.add(b.markov_logits, vocab, b.draft_base + row * vocab);
  core.linear(core.weights.confidence, b.markov, 1, b.confidence);
  device.begin_download(b.draft_logits.data() + row * vocab, (b.draft_base + row * vocab).address(),
                        vocab * sizeof(float));
  device.begin_download(&b.draft_conf[row], b.confidence.address(), sizeof(float));
  device.finish_downloads();
}

}  // namespace

void extend_draft_context(Core& core, int first, int rows) {
  const Config& c = core.config;
  Device& device = core.device;
  Buffers& b = core.buffers;
  const int width = static_cast<int>(c.draft_targets.size()) * c.dim;
  core.linear(core.weights.draft_fc, core.as_quantised_input(b.taps, rows, width), rows, b.x);
  device.rms(b.x, core.weights.draft_fc_norm, rows, c.dim, c.rms_eps, b.x);
  const DevPtr<const float> in = core.as_quantised_input(b.x, rows, c.dim);
  for (int stage = 0; stage < c.draft_stages; ++stage) {
    const LayerWeights& w = core.weights.stages[static_cast<size_t>(stage)];
    core.linear(w.kv, in, rows, b.kv);
    device.rms(b.kv, w.kv_norm, rows, c.head_dim, c.rms_eps, b.kv);
    device.rope(b.kv, rows, 1, c.head_dim, core.window_freq, c.rope_dim / 2, first, 1, false);
    core.store_keys(FakeQuant::kFp8Block32, b.kv, rows, first,
                    core.caches.draft_contexts[static_cast<size_t>(stage)],
                    core.caches.draft.slots);
  }
}

Status run_draft(Core& core, int next_token, int position, int depth, RoutedExperts& experts,
                 DraftPicker* picker) {
  const Config& c = core.config;
  Buffers& b = core.buffers;
  experts.begin_pass(PassKind::kDraft, c.draft_block);
  core.expert_step = c.draft_block;
  ROTA_RETURN_IF_ERROR(run_stages(core, next_token, position, experts));
  core.device.rms(b.draft_x, core.weights.draft_norm, depth, c.dim, c.rms_eps, b.x);
  core.linear(core.weights.head, b.x, depth, b.draft_base);
  int previous = next_token;
  for (int i = 0; i < depth; ++i) {
    correct(core, i, previous);
    const float* logits =
        b.draft_logits.data() + static_cast<size_t>(i) * static_cast<size_t>(c.vocab);
    previous = picker != nullptr ? picker->pick(i, logits, c.vocab) : largest(logits, c.vocab);
    b.draft_ids[static_cast<size_t>(i)] = previous;
  }
  return {};
}

}  // namespace rota
