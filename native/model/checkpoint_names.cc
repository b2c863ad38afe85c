// Official names, role by role.
#include "model/checkpoint_names.h"

#include "base/check.h"

namespace rota {
namespace {

struct OfficialName {
  Role role;
  const char* name;  // after "layers.N." or "mtp.N." for the roles of a layer
  Stored stored;
};

// In the order of the enum.
constexpr OfficialName kNames[] = {
    {Role::kTokenEmbd, "embed.weight", Stored::kBF16},
    {Role::kOutputNorm, "norm.weight", Stored::kBF16},
    {Role::kOutput, "head.weight", Stored::kBF16},
    {Role::kDraftFc, "main_proj", Stored::kFp8Tiles},
    {Role::kDraftFcNorm, "main_norm.weight", Stored::kBF16},
    {Role::kMarkovEmbed, "markov_head.embed.weight", Stored::kBF16},
    {Role::kMarkovHead, "markov_head.head.weight", Stored::kBF16},
    {Role::kConfidence, "confidence_head.proj.weight", Stored::kBF16},
    {Role::kAttnNorm, "attn_norm.weight", Stored::kBF16},
    {Role::kAttnQA, "attn.wq_a", Stored::kFp8Tiles},
    {Role::kAttnQANorm, "attn.q_norm.weight", Stored::kBF16},
    {Role::kAttnQB, "attn.wq_b", Stored::kFp8Tiles},
    {Role::kAttnKv, "attn.wkv", Stored::kFp8Tiles},
    {Role::kAttnKvNorm, "attn.kv_norm.weight", Stored::kBF16},
    {Role::kAttnSinks, "attn.attn_sink", Stored::kF32},
    {Role::kAttnOutA, "attn.wo_a", Stored::kFp8Tiles},
    {Role::kAttnOutB, "attn.wo_b", Stored::kFp8Tiles},
    {Role::kFfnNorm, "ffn_norm.weight", Stored::kBF16},
    {Role::kRouter, "ffn.gate.weight", Stored::kBF16},
    {Role::kRouterBias, "ffn.gate.bias", Stored::kF32},
    {Role::kSharedGate, "ffn.shared_experts.w1", Stored::kFp8Tiles},
    {Role::kSharedUp, "ffn.shared_experts.w3", Stored::kFp8Tiles},
    {Role::kSharedDown, "ffn.shared_experts.w2", Stored::kFp8Tiles},
    {Role::kHcAttnFn, "hc_attn_fn", Stored::kF32},
    {Role::kHcAttnBase, "hc_attn_base", Stored::kF32},
    {Role::kHcAttnScale, "hc_attn_scale", Stored::kF32},
    {Role::kHcFfnFn, "hc_ffn_fn", Stored::kF32},
    {Role::kHcFfnBase, "hc_ffn_base", Stored::kF32},
    {Role::kHcFfnScale, "hc_ffn_scale", Stored::kF32},
    {Role::kCompressorKv, "attn.compressor.wkv.weight", Stored::kBF16},
    {Role::kCompressorGate, "attn.compressor.wgate.weight", Stored::kBF16},
    {Role::kCompressorNorm, "attn.compressor.norm.weight", Stored::kBF16},
    {Role::kIndexK, "attn.indexer.wk.weight", Stored::kBF16},
    {Role::kIndexKNorm, "attn.indexer.k_norm.weight", Stored::kBF16},
    {Role::kIndexQB, "attn.indexer.wq_b", Stored::kFp8Tiles},
    {Role::kIndexWeights, "attn.indexer.weights_proj.weight", Stored::kBF16},
    {Role::kEngramEmbed, "engram.embed", Stored::kFp8Rows},
    {Role::kEngramWkv, "engram.wkv", Stored::kFp8Tiles},
    {Role::kEngramQ, "engram.q_weight", Stored::kBF16},
    {Role::kEngramK, "engram.k_weight", Stored::kBF16},
};
static_assert(std::size(kNames) == static_cast<size_t>(Role::kCount));
static_assert([] {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (static_cast<size_t>(kNames[i].role) != i) return false;
  }
  return true;
}());

const OfficialName& official(Role role) {
  ROTA_CHECK(role < Role::kCount, "role", static_cast<int>(role));
  return kNames[static_cast<size_t>(role)];
}

std::string target_prefix(int layer) { return "layers." + std::to_string(layer) + "."; }
std::string draft_prefix(int stage) { return "mtp." + std::to_string(stage) + "."; }

std::string expert_suffix(int expert, ExpertPart part) {
  constexpr const char* kPart[] = {".w1", ".w3", ".w2"};  // gate, up, down
  return "ffn.experts." + std::to_string(expert) + kPart[static_cast<size_t>(part)];
}

}  // namespace

Stored stored_as(Role role) { return official(role).stored; }

bool has_scales(Stored stored) { return stored != Stored::kF32 && stored != Stored::kBF16; }

std::string target_name(Role role, int layer) {
  return (layer < 0 ? "" : target_prefix(layer)) + official(role).name;
}

std::string draft_name(Role role, int stage, int stages) {
  if (stage < 0) {
    const bool first = role == Role::kDraftFc || role == Role::kDraftFcNorm;
    stage = first ? 0 : stages - 1;
  }
  return draft_prefix(stage) + official(role).name;
}

std::string target_expert_name(int layer, int expert, ExpertPart part) {
  return target_prefix(layer) + expert_suffix(expert, part);
}

std::string draft_expert_name(int stage, int expert, ExpertPart part) {
  return draft_prefix(stage) + expert_suffix(expert, part);
}

bool is_of_vision(std::string_view name) {
  for (const char* prefix : {"vision.", "aligner.", "image_"}) {
    if (name.starts_with(prefix)) return true;
  }
  return name.ends_with(".ffn.gate.bias_vl");
}

}  // namespace rota
