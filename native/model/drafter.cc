// DSpark: the draft stages and the sequential correction of their logits.
#include "model/drafter.h"

#include <algorithm>

#include "model/sublayers.h"

namespace rota {
namespace {

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
    leave_sublayer(core, rows, {});
    enter_sublayer(core, w.hc_ffn, w.ffn_norm, rows);
    const MoeSite site{w, stage, c.draft_experts, c.draft_top_k};
    ROTA_RETURN_IF_ERROR(
        mixture_of_experts(core, site, rows, experts, &core.counters.draft_experts_ns));
    leave_sublayer(core, rows, b.shared_y);
  }
  device.hc_collapse(b.h, b.collapse, rows, c.hc_mult, c.dim, b.draft_x);
  return {};
}

// What the confidences read: [x ; embedding of the token before], x before the norm.
DevPtr<float> markov_row(Core& core, int i) {
  const Config& c = core.config;
  return core.buffers.markov + static_cast<size_t>(i) * static_cast<size_t>(c.dim + c.markov_rank);
}

DevPtr<float> base_row(Core& core, int i) {
  return core.buffers.draft_base + static_cast<size_t>(i) * static_cast<size_t>(core.config.vocab);
}

// Adds the Markov term of the token before to row i of the base logits: that is host_token, or on
// the device the one that was drafted before i.
void correct(Core& core, int i, const int* host_token) {
  const Config& c = core.config;
  Device& device = core.device;
  Buffers& b = core.buffers;
  const DevPtr<float> row = markov_row(core, i), embedding = row + static_cast<size_t>(c.dim);
  const Matrix& table = core.weights.markov_embed;
  if (host_token != nullptr) {
    device.gather(table, host_token, 1, embedding);
  } else {
    device.gather_listed(table, b.drafted + static_cast<size_t>(i - 1), 1, embedding);
  }
  *core.dense_bytes += table.bytes / static_cast<size_t>(c.vocab);
  core.linear(core.weights.markov_head, embedding, 1, b.markov_logits);
  device.add(b.markov_logits, static_cast<size_t>(c.vocab), base_row(core, i));
  core.linear(core.weights.confidence, row, 1, b.confidence + static_cast<size_t>(i));
}

// Greedy: a draft is the largest logit, and no host is asked.
void draft_greedily(Core& core, int next_token, int depth) {
  Buffers& b = core.buffers;
  for (int i = 0; i < depth; ++i) {
    correct(core, i, i == 0 ? &next_token : nullptr);
    core.device.largest(base_row(core, i), 1, core.config.vocab,
                        b.drafted + static_cast<size_t>(i));
  }
  core.device.begin_download(b.draft_ids.data(), b.drafted.address(),
                             static_cast<size_t>(depth) * sizeof(int));
}

void draft_by(Core& core, DraftPicker& picker, int next_token, int depth) {
  int previous = next_token;
  for (int i = 0; i < depth; ++i) {
    correct(core, i, &previous);
    const float* logits = core.buffers.draft_logits.read(i, 1);
    previous = picker.pick(i, logits, core.config.vocab);
    core.buffers.draft_ids[static_cast<size_t>(i)] = previous;
  }
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
    device.rms_rope(b.kv, w.kv_norm, rows, c.head_dim, c.rms_eps,
                    {core.window_freq, c.rope_dim / 2}, first, 1);
    core.store_keys(FakeQuant::kFp8Block32, b.kv, rows, first,
                    core.caches.draft_contexts[static_cast<size_t>(stage)],
                    core.caches.draft.slots);
  }
}

Status run_draft(Core& core, int next_token, int position, int depth, RoutedExperts& experts,
                 DraftPicker* picker) {
  const Config& c = core.config;
  Buffers& b = core.buffers;
  core.device.begin_pass(c.draft_block);
  experts.begin_pass(PassKind::kDraft, c.draft_block);
  core.expert_step = c.draft_block;
  ROTA_RETURN_IF_ERROR(run_stages(core, next_token, position, experts));
  core.device.rms(b.draft_x, core.weights.draft_norm, depth, c.dim, c.rms_eps, b.x);
  core.linear(core.weights.head, b.x, depth, b.draft_base);
  b.draft_logits.stand_at(b.draft_base);
  for (int i = 0; i < depth; ++i) {
    const size_t dim = static_cast<size_t>(c.dim);
    core.device.copy(markov_row(core, i).address(),
                     (b.draft_x + static_cast<size_t>(i) * dim).address(), dim * sizeof(float));
  }
  if (picker == nullptr) {
    draft_greedily(core, next_token, depth);
  } else {
    draft_by(core, *picker, next_token, depth);
  }
  core.device.begin_download(b.draft_conf.data(), b.confidence.address(),
                             static_cast<size_t>(depth) * sizeof(float));
  core.device.finish_downloads();
  return {};
}

}  // namespace rota
