// How a sublayer meets the stream, and the mixture of experts.
#include "model/sublayers.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace rota {

void remember_tokens(Core& core, std::span<const int> tokens, int first) {
  const Config& c = core.config;
  if (c.engram_layers.empty()) return;
  int32_t* ids = core.caches.compressed_ids.as<int32_t>() + first;
  for (const int token : tokens) *ids++ = c.engram_token_map[static_cast<size_t>(token)];
}

void enter_stream(Core& core, std::span<const int> tokens, int first) {
  const Config& c = core.config;
  Buffers& b = core.buffers;
  const int rows = static_cast<int>(tokens.size());
  core.device.gather(core.weights.embed, tokens.data(), rows, b.x);
  *core.dense_bytes += core.weights.embed.bytes / static_cast<size_t>(c.vocab) * tokens.size();
  core.device.hc_copy(b.x, rows, c.hc_mult, c.dim, b.h);
  core.device.copy(b.collapse.address(), core.first_copy.address(),
                   static_cast<size_t>(rows * c.hc_mult) * sizeof(float));
  remember_tokens(core, tokens, first);
}

void run_attention_half(Core& core, int layer, int first, int rows) {
  const Config& c = core.config;
  const LayerWeights& w = core.weights.layers[static_cast<size_t>(layer)];
  if (c.engram_index(layer) >= 0) apply_engram(core, layer, first, rows);
  const auto tap = std::find(c.draft_targets.begin(), c.draft_targets.end(), layer);
  if (tap != c.draft_targets.end()) {
    const int width = static_cast<int>(c.draft_targets.size()) * c.dim;
    const size_t column =
        static_cast<size_t>(tap - c.draft_targets.begin()) * static_cast<size_t>(c.dim);
    core.device.hc_mean(core.buffers.h, rows, c.hc_mult, c.dim, core.buffers.taps + column, width);
  }
  enter_sublayer(core, w.hc_attn, w.attn_norm, rows);
  target_attention(core, layer, first, rows);
  leave_sublayer(core, rows, {});
}

void read_head(Core& core, int rows, int first_logit_row) {
  const Config& c = core.config;
  Buffers& b = core.buffers;
  const int count = rows - first_logit_row;
  if (count == 0) return;
  core.counters.head_rows += static_cast<uint64_t>(count);
  const size_t skipped = static_cast<size_t>(first_logit_row),
               copies = static_cast<size_t>(c.hc_mult);
  core.device.hc_collapse(b.h + skipped * copies * static_cast<size_t>(c.dim),
                          b.collapse + skipped * copies, count, c.hc_mult, c.dim, b.head_in);
  core.device.rms(b.head_in, core.weights.norm, count, c.dim, c.rms_eps, b.head_in);
  core.linear(core.weights.head, b.head_in, count, b.logits);
  b.host_logits.stand_at(b.logits);
  core.device.largest(b.logits, count, c.vocab, b.best);
  core.device.download(b.host_best.data(), b.best.address(),
                       static_cast<size_t>(count) * sizeof(int));
}

namespace {

HcStream stream_of(const Core& core) {
  const Config& c = core.config;
  const Buffers& b = core.buffers;
  const HcParams params{c.hc_mult, c.hc_sinkhorn_iters, c.rms_eps, c.hc_eps};
  return {params, c.dim, b.h, b.pre, b.post, b.comb};
}

}  // namespace

void enter_sublayer(Core& core, const HcWeights& hc, DevVector norm, int rows) {
  Buffers& b = core.buffers;
  *core.dense_bytes += hc.fn.bytes;
  core.device.hc_enter(stream_of(core), {&hc.fn, hc.base, hc.scale, b.mix}, b.collapse, norm, rows,
                       b.x);
}

void leave_sublayer(Core& core, int rows, DevPtr<const float> addend) {
  Buffers& b = core.buffers;
  core.device.hc_leave(stream_of(core), b.y, addend, rows);
  std::swap(b.collapse, b.pre);
}

namespace {

// Router scores of x into ids and weights on the device.
void route(Core& core, const MoeSite& site, const LayerWeights& w, DevVector selection_bias,
           int rows) {
  Buffers& b = core.buffers;
  core.linear(w.router, b.x, rows, b.router);
  core.device.route(b.router, w.router_bias, selection_bias, rows, site.experts, site.top_k,
                    core.config.route_scale, b.expert_ids, b.expert_weights);
}

// A row's experts know no other row, so a cut between rows changes no bit: only how often an expert
// is read and how much scratch there must be.
Status run_in_steps(Core& core, const MoeSite& site, int rows, RoutedExperts& routed,
                    const float* x, float* y) {
  const auto dim = static_cast<size_t>(core.config.dim), top_k = static_cast<size_t>(site.top_k);
  Buffers& b = core.buffers;
  for (int done = 0; done < rows; done += core.expert_step) {
    const auto row = static_cast<size_t>(done);
    ROTA_RETURN_IF_ERROR(routed.run(site.layer, std::min(core.expert_step, rows - done), site.top_k,
                                    b.host_ids.data() + row * top_k,
                                    b.host_weights.data() + row * top_k, x + row * dim,
                                    y + row * dim));
  }
  return {};
}

// The same where the experts are.
Status run_experts(Core& core, const MoeSite& site, int rows, RoutedExperts& routed,
                   DevPtr<const float> in) {
  Buffers& b = core.buffers;
  if (!routed.computes_on_host() || core.device.in_host_memory()) {
    return run_in_steps(core, site, rows, routed, in.address(), b.y.address());
  }
  const size_t bytes =
      static_cast<size_t>(rows) * static_cast<size_t>(core.config.dim) * sizeof(float);
  core.device.download(b.host_x.data(), in.address(), bytes);
  ROTA_RETURN_IF_ERROR(core.device.status());
  ROTA_RETURN_IF_ERROR(run_in_steps(core, site, rows, routed, b.host_x.data(), b.host_y.data()));
  core.device.upload(b.y.address(), b.host_y.data(), bytes);
  return {};
}

}  // namespace

void ask_router(Core& core, const MoeSite& site, DevVector selection_bias, int rows) {
  Buffers& b = core.buffers;
  const size_t pairs = static_cast<size_t>(rows * site.top_k);
  route(core, site, site.w, selection_bias, rows);
  core.device.begin_download(b.host_ids.data(), b.expert_ids.address(), pairs * sizeof(int));
  core.device.begin_download(b.host_weights.data(), b.expert_weights.address(),
                             pairs * sizeof(float));
}

void compute_shared_expert(Core& core, const LayerWeights& w, int rows) {
  const Config& c = core.config;
  Buffers& b = core.buffers;
  const DevPtr<const float> in = core.as_quantised_input(b.x, rows, c.dim);
  const size_t count = static_cast<size_t>(rows) * static_cast<size_t>(c.moe_inter);
  core.linear_pair(w.shared_gate, w.shared_up, in, rows, b.shared_gate, b.shared_up);
  core.device.swiglu(b.shared_gate, b.shared_up, count, c.swiglu_limit, b.shared_gate);
  core.linear(w.shared_down, core.as_quantised_input(b.shared_gate, rows, c.moe_inter), rows,
              b.shared_y);
}

// The device computes the shared expert while its answer travels, and the host places the experts.
Status mixture_of_experts(Core& core, const MoeSite& site, int rows, RoutedExperts& routed,
                          uint64_t* experts_ns) {
  const Config& c = core.config;
  Buffers& b = core.buffers;
  if (site.next != nullptr) {
    route(core, site, *site.next, {}, rows);
    core.device.begin_download(b.host_hint.data(), b.expert_ids.address(),
                               static_cast<size_t>(rows * site.top_k) * sizeof(int));
  }
  DevVector bias;
  if (const float* host_bias = routed.selection_bias(site.layer); host_bias != nullptr) {
    core.device.upload(b.selection_bias.address(), host_bias,
                       static_cast<size_t>(site.experts) * sizeof(float));
    bias = b.selection_bias;
  }
  ask_router(core, site, bias, rows);
  // Rounded experts' inputs share their memory with the shared expert's: rounded again below.
  if (!core.options.act_quant) routed.arrive(b.x.address(), rows);
  compute_shared_expert(core, site.w, rows);
  const DevPtr<const float> in = core.as_quantised_input(b.x, rows, c.dim);
  core.device.finish_downloads();
  ROTA_RETURN_IF_ERROR(core.device.status());
  if (site.next != nullptr) routed.hint(site.layer + 1, rows, site.top_k, b.host_hint.data());
  const int64_t start = now_ns();
  const Status status = run_experts(core, site, rows, routed, in);
  *experts_ns += static_cast<uint64_t>(now_ns() - start);
  return status;
}

}  // namespace rota
