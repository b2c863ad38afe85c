// Names and shapes, role by role.
#include "model/tensor_names.h"

#include "base/check.h"

namespace rota {
namespace {

struct RoleName {
  Role role;
  const char* name;  // after "blk.N." for the roles of a layer
  bool f32;
};

// One line a role, in the order of the enum, in the spelling of family A; family.h has the others.
constexpr RoleName kRoles[] = {
    {Role::kTokenEmbd, "token_embd.weight", false},
    {Role::kOutputNorm, "output_norm.weight", true},
    {Role::kOutput, "output.weight", false},
    {Role::kDraftFc, "fc.weight", false},
    {Role::kDraftFcNorm, "enc.output_norm.weight", true},
    {Role::kMarkovEmbed, "markov_w1.weight", false},
    {Role::kMarkovHead, "markov_w2.weight", false},
    {Role::kConfidence, "conf_proj.weight", false},
    {Role::kAttnNorm, "attn_norm.weight", true},
    {Role::kAttnQA, "attn_q_a.weight", false},
    {Role::kAttnQANorm, "attn_q_a_norm.weight", true},
    {Role::kAttnQB, "attn_q_b.weight", false},
    {Role::kAttnKv, "attn_kv.weight", false},
    {Role::kAttnKvNorm, "attn_kv_a_norm.weight", true},
    {Role::kAttnSinks, "attn_sinks.weight", true},
    {Role::kAttnOutA, "attn_output_a.weight", false},
    {Role::kAttnOutB, "attn_output_b.weight", false},
    {Role::kFfnNorm, "ffn_norm.weight", true},
    {Role::kRouter, "ffn_gate_inp.weight", false},
    {Role::kRouterBias, "exp_probs_b.bias", true},
    {Role::kSharedGate, "ffn_gate_shexp.weight", false},
    {Role::kSharedUp, "ffn_up_shexp.weight", false},
    {Role::kSharedDown, "ffn_down_shexp.weight", false},
    {Role::kHcAttnFn, "hc_attn_fn.weight", true},
    {Role::kHcAttnBase, "hc_attn_base.weight", true},
    {Role::kHcAttnScale, "hc_attn_scale.weight", true},
    {Role::kHcFfnFn, "hc_ffn_fn.weight", true},
    {Role::kHcFfnBase, "hc_ffn_base.weight", true},
    {Role::kHcFfnScale, "hc_ffn_scale.weight", true},
    {Role::kCompressorKv, "attn_compressor_kv.weight", false},
    {Role::kCompressorGate, "attn_compressor_gate.weight", false},
    {Role::kCompressorNorm, "attn_compressor_norm.weight", true},
    {Role::kIndexK, "indexer_compressor_kv.weight", false},
    {Role::kIndexKNorm, "indexer_compressor_norm.weight", true},
    {Role::kIndexQB, "indexer.attn_q_b.weight", false},
    {Role::kIndexWeights, "indexer.proj.weight", false},
    {Role::kEngramEmbed, "engram_embed.weight", false},
    {Role::kEngramWkv, "engram_wkv.weight", false},
    {Role::kEngramQ, "engram_q.weight", true},
    {Role::kEngramK, "engram_k.weight", true},
};
static_assert(std::size(kRoles) == static_cast<size_t>(Role::kCount));
static_assert([] {
  for (size_t i = 0; i < std::size(kRoles); ++i) {
    if (static_cast<size_t>(kRoles[i].role) != i) return false;
  }
  return true;
}());

const RoleName& role_name(Role role) {
  ROTA_CHECK(role < Role::kCount, "role", static_cast<int>(role));
  return kRoles[static_cast<size_t>(role)];
}

std::string block_prefix(int layer) { return "blk." + std::to_string(layer) + "."; }

class List {
 public:
  explicit List(Family family) : family_(family) {}
  void add(Role role, int layer, int64_t ne0, int64_t ne1 = 1) {
    const std::string suffix(spelled(family_, role_name(role).name));
    tensors_.push_back({layer < 0 ? suffix : block_prefix(layer) + suffix,
                        role,
                        layer,
                        {static_cast<uint64_t>(ne0), static_cast<uint64_t>(ne1)}});
  }
  std::vector<ExpectedTensor> take() { return std::move(tensors_); }

 private:
  Family family_;
  std::vector<ExpectedTensor> tensors_;
};

// What a target layer and a draft stage have in common.
void add_block(const Config& c, int layer, int experts, List& list) {
  const int64_t q_width = int64_t{c.heads} * c.head_dim, o_rank = int64_t{c.o_groups} * c.o_lora;
  const int64_t stream = int64_t{c.hc_mult} * c.dim;
  list.add(Role::kAttnNorm, layer, c.dim);
  list.add(Role::kAttnQA, layer, c.dim, c.q_lora);
  list.add(Role::kAttnQANorm, layer, c.q_lora);
  list.add(Role::kAttnQB, layer, c.q_lora, q_width);
  list.add(Role::kAttnKv, layer, c.dim, c.head_dim);
  list.add(Role::kAttnKvNorm, layer, c.head_dim);
  list.add(Role::kAttnSinks, layer, c.heads);
  list.add(Role::kAttnOutA, layer, q_width / c.o_groups, o_rank);
  list.add(Role::kAttnOutB, layer, o_rank, c.dim);
  list.add(Role::kFfnNorm, layer, c.dim);
  list.add(Role::kRouter, layer, c.dim, experts);
  list.add(Role::kRouterBias, layer, experts);
  list.add(Role::kSharedGate, layer, c.dim, c.moe_inter);
  list.add(Role::kSharedUp, layer, c.dim, c.moe_inter);
  list.add(Role::kSharedDown, layer, c.moe_inter, c.dim);
  list.add(Role::kHcAttnFn, layer, stream, c.hc_coefficients());
  list.add(Role::kHcAttnBase, layer, c.hc_coefficients());
  list.add(Role::kHcAttnScale, layer, 3);
  list.add(Role::kHcFfnFn, layer, stream, c.hc_coefficients());
  list.add(Role::kHcFfnBase, layer, c.hc_coefficients());
  list.add(Role::kHcFfnScale, layer, 3);
}

void add_sources(const Config& c, int layer, List& list) {
  if (c.owns_kv(layer)) {
    list.add(Role::kCompressorKv, layer, c.dim, c.head_dim);
    if (c.ratios[static_cast<size_t>(layer)] > 1) {
      list.add(Role::kCompressorGate, layer, c.dim, c.head_dim);
    }
    list.add(Role::kCompressorNorm, layer, c.head_dim);
    list.add(Role::kIndexK, layer, c.head_dim, c.index_head_dim);
    list.add(Role::kIndexKNorm, layer, c.index_head_dim);
  }
  if (c.owns_index(layer)) {
    list.add(Role::kIndexQB, layer, c.q_lora, int64_t{c.index_heads} * c.index_head_dim);
    list.add(Role::kIndexWeights, layer, c.dim, c.index_heads);
  }
  if (const int which = c.engram_index(layer); which >= 0) {
    list.add(Role::kEngramEmbed, layer, c.engram_head_dim, c.engram_rows(which));
    list.add(Role::kEngramWkv, layer, int64_t{c.engram_columns()} * c.engram_head_dim,
             int64_t{c.hc_mult + 1} * c.dim);
    list.add(Role::kEngramQ, layer, c.dim, c.hc_mult);
    list.add(Role::kEngramK, layer, c.dim, c.hc_mult);
  }
}

}  // namespace

bool role_is_f32(Role role) { return role_name(role).f32; }
const char* role_suffix(Role role) { return role_name(role).name; }
std::string role_tensor_name(Role role, int layer) {
  return (layer < 0 ? "" : block_prefix(layer)) + role_name(role).name;
}

std::vector<ExpectedTensor> target_tensors(const Config& c, Family family) {
  List list(family);
  list.add(Role::kTokenEmbd, -1, c.dim, c.vocab);
  list.add(Role::kOutputNorm, -1, c.dim);
  list.add(Role::kOutput, -1, c.dim, c.vocab);
  for (int layer = 0; layer < c.layers; ++layer) {
    add_block(c, layer, c.experts, list);
    add_sources(c, layer, list);
  }
  return list.take();
}

std::vector<ExpectedTensor> draft_tensors(const Config& c) {
  List list(Family::kA);  // all families draft with the same sidecar
  const auto targets = static_cast<int64_t>(c.draft_targets.size());
  list.add(Role::kDraftFc, -1, targets * c.dim, c.dim);
  list.add(Role::kDraftFcNorm, -1, c.dim);
  list.add(Role::kOutputNorm, -1, c.dim);
  list.add(Role::kMarkovEmbed, -1, c.markov_rank, c.vocab);
  list.add(Role::kMarkovHead, -1, c.markov_rank, c.vocab);
  list.add(Role::kConfidence, -1, int64_t{c.dim} + c.markov_rank);
  for (int stage = 0; stage < c.draft_stages; ++stage) add_block(c, stage, c.draft_experts, list);
  return list.take();
}

std::string expert_tensor_name(int layer, ExpertPart part) {
  constexpr const char* kSuffix[] = {"ffn_gate_exps.weight", "ffn_up_exps.weight",
                                     "ffn_down_exps.weight"};
  return block_prefix(layer) + kSuffix[static_cast<size_t>(part)];
}

std::string expert_blob_name(int layer, const char* format_name) {
  return block_prefix(layer) + "ffn_exps_blob." + format_name + ".weight";
}

std::string expert_map_name(int layer) { return block_prefix(layer) + "ffn_exps_map"; }

}  // namespace rota
