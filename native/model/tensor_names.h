// The one table from a config to the tensors its files must have: GGUF name, role, shape, layer.
// Owns no data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/family.h"

namespace rota {

// Shapes are GGUF's: ne[0] is the row length (the K of a matrix), ne[1] the rows (its outputs).
enum class Role {
  // once a file
  kTokenEmbd,    // [dim, vocab]
  kOutputNorm,   // [dim]            in the sidecar: the norm before the shared head
  kOutput,       // [dim, vocab]
  kDraftFc,      // [targets*dim, dim]   sidecar only, as the rest of this group
  kDraftFcNorm,  // [dim]
  kMarkovEmbed,  // [rank, vocab]
  kMarkovHead,   // [rank, vocab]
  kConfidence,   // [dim + rank, 1]
  // once a layer or draft stage
  kAttnNorm,     // [dim]
  kAttnQA,       // [dim, q_lora]
  kAttnQANorm,   // [q_lora]
  kAttnQB,       // [q_lora, heads*head_dim]
  kAttnKv,       // [dim, head_dim]
  kAttnKvNorm,   // [head_dim]
  kAttnSinks,    // [heads]
  kAttnOutA,     // [heads*head_dim/o_groups, o_groups*o_lora]: group g has rows g*o_lora..
  kAttnOutB,     // [o_groups*o_lora, dim]
  kFfnNorm,      // [dim]
  kRouter,       // [dim, experts]
  kRouterBias,   // [experts]
  kSharedGate,   // [dim, moe_inter]
  kSharedUp,     // [dim, moe_inter]
  kSharedDown,   // [moe_inter, dim]
  kHcAttnFn,     // [hc*dim, hc_coefficients]
  kHcAttnBase,   // [hc_coefficients]
  kHcAttnScale,  // [3]
  kHcFfnFn,
  kHcFfnBase,
  kHcFfnScale,
  // kv sources
  kCompressorKv,    // [dim, head_dim]
  kCompressorGate,  // [dim, head_dim], ratio > 1 only
  kCompressorNorm,  // [head_dim]
  kIndexK,          // [head_dim, index_head_dim]
  kIndexKNorm,      // [index_head_dim]
  // index sources
  kIndexQB,       // [q_lora, index_heads*index_head_dim]
  kIndexWeights,  // [dim, index_heads]
  // engram layers
  kEngramEmbed,  // [engram_head_dim, rows]
  kEngramWkv,    // [columns*engram_head_dim, (hc + 1)*dim]: hc key blocks, then the value
  kEngramQ,      // [dim, hc]
  kEngramK,      // [dim, hc]
  kCount,
};

struct ExpectedTensor {
  std::string name;  // as the file's family spells it
  Role role;
  int layer;                   // -1: once a file
  std::array<uint64_t, 2> ne;  // ne[1] == 1 for vectors
};

// Always F32 in a file (norms, hyper-connections, sinks, biases, engram gate weights); the others
// may be any format.
bool role_is_f32(Role role);
const char* role_suffix(Role role);  // "attn_q_a.weight", in the spelling of family A
// The name of a role's tensor in family A: with "blk.N." where layer >= 0.
std::string role_tensor_name(Role role, int layer);

// Dense tensors of the model and of the DSpark sidecar. Routed experts are not in these lists: see
// below.
std::vector<ExpectedTensor> target_tensors(const Config& config, Family family = Family::kOurs);
std::vector<ExpectedTensor> draft_tensors(const Config& config);

// Routed experts, plain layout: three 3-D tensors a layer.
enum class ExpertPart { kGate, kUp, kDown };
std::string expert_tensor_name(int layer, ExpertPart part);  // "blk.3.ffn_gate_exps.weight"
// Routed experts, our per-expert-format layout (formats of experts differ within one layer):
//   blk.N.ffn_exps_blob.FORMAT.weight  ne = [3*dim*moe_inter, count]: an expert's gate rows, up
//   rows, down rows blk.N.ffn_exps_map                 I32 [2, experts]: (format's type number,
//   index in that tensor)
std::string expert_blob_name(int layer, const char* format_name);
std::string expert_map_name(int layer);

}  // namespace rota
