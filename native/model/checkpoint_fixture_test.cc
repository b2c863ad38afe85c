// The fixture's code; it is a _test file so that no library contains it.
#include "model/checkpoint_fixture.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/rng.h"
#include "formats/numbers.h"
#include "formats/safetensors_fixture.h"
#include "model/engram_tables.h"
#include "model/named_configs.h"

namespace rota {
namespace {

using Json = nlohmann::json;

constexpr int kShards = 3;

class Maker {
 public:
  explicit Maker(uint64_t seed) : c_(named_config("mini-xs2").value().config), state_(seed) {
    c_.image_id = 5;
    for (int id = 0; id < c_.vocab; ++id) {
      map_.push_back(id * c_.engram_compressed_vocab / c_.vocab);
    }
  }

  CheckpointFixture make() {
    out_.config = checkpoint_config_json(c_);
    out_.engram = {{"token_map", map_}};
    bf16(false, -1, Role::kTokenEmbd, "embed.weight", c_.vocab, c_.dim);
    bf16(false, -1, Role::kOutput, "head.weight", c_.vocab, c_.dim);
    vector(false, -1, Role::kOutputNorm, "norm.weight", c_.dim);
    for (int layer = 0; layer < c_.layers; ++layer) {
      const std::string prefix = "layers." + std::to_string(layer) + ".";
      block(false, layer, prefix, c_.experts);
      sources(layer, prefix);
    }
    for (int stage = 0; stage < c_.draft_stages; ++stage) {
      block(true, stage, "mtp." + std::to_string(stage) + ".", c_.draft_experts);
    }
    draft_ends();
    plain("vision.blocks.0.attn.qkv.weight", "BF16", {8, 8}, 128);
    plain("aligner.w1.weight", "BF16", {4, 8}, 64);
    plain("image_newline", "BF16", {8}, 16);
    // Tensors of one matrix in different shards, as a release may have them.
    int next = 0;
    for (auto& [name, tensor] : out_.tensors) tensor.shard = 1 + next++ % kShards;
    return std::move(out_);
  }

 private:
  static uint64_t u(int value) { return static_cast<uint64_t>(value); }
  uint8_t byte() { return static_cast<uint8_t>(bits() >> 56); }
  uint64_t bits() { return splitmix64_mix(state_ += kGoldenGamma); }

  void plain(const std::string& name, const char* dtype, std::vector<uint64_t> shape,
             uint64_t bytes) {
    std::string data;
    for (uint64_t i = 0; i < bytes; ++i) data += static_cast<char>(byte());
    out_.tensors[name] = {dtype, std::move(shape), std::move(data), 1};
  }

  // Numbers of 2^-7 to 2, of both signs: the upper half of an fp32, and the lower one.
  template <typename T>
  void numbers(const std::string& name, const char* dtype, std::vector<uint64_t> shape) {
    uint64_t count = 1;
    for (const uint64_t dim : shape) count *= dim;
    std::string data;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t random = bits();
      const auto exponent = static_cast<uint32_t>(120 + random % 8);
      const uint32_t wide = static_cast<uint32_t>(random >> 63) << 31 | exponent << 23 |
                            static_cast<uint32_t>(random >> 32 & 0x7fffff);
      const T value = static_cast<T>(wide >> (32 - 8 * sizeof(T)));
      data.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    out_.tensors[name] = {dtype, std::move(shape), std::move(data), 1};
  }
  void bf16(bool draft, int layer, Role role, const std::string& name, int rows, int columns) {
    numbers<uint16_t>(name, "BF16", {u(rows), u(columns)});
    out_.names[{draft, layer, role}] = name;
  }
  void vector(bool draft, int layer, Role role, const std::string& name, int size) {
    numbers<uint16_t>(name, "BF16", {u(size)});
    out_.names[{draft, layer, role}] = name;
  }
  void f32(bool draft, int layer, Role role, const std::string& name, std::vector<uint64_t> shape) {
    numbers<uint32_t>(name, "F32", std::move(shape));
    out_.names[{draft, layer, role}] = name;
  }
  void scales(const std::string& name, uint64_t rows, uint64_t columns) {
    std::string data;
    for (uint64_t i = 0; i < rows * columns; ++i) data += static_cast<char>(117 + byte() % 9);
    // The ends of what a scale may be: 2^-127 and, of weights that stay finite, 2^119.
    data[0] = 0;
    if (data.size() > 1) data[1] = static_cast<char>(246);
    out_.tensors[name + ".scale"] = {"F8_E8M0", {rows, columns}, std::move(data), 1};
  }
  void fp8(bool draft, int layer, Role role, const std::string& name, int64_t rows, int64_t columns,
           bool table = false) {
    std::string data;
    for (int64_t i = 0; i < rows * columns; ++i) {
      const uint8_t code = byte();
      data += static_cast<char>((code & 0x7f) == 0x7f ? code ^ 1 : code);
    }
    const auto r = static_cast<uint64_t>(rows), k = static_cast<uint64_t>(columns);
    out_.tensors[name + ".weight"] = {"F8_E4M3", {r, k}, std::move(data), 1};
    scales(name, table ? r : (r + 31) / 32, k / 32);
    out_.names[{draft, layer, role}] = name;
  }
  void fp4(const std::string& name, int rows, int columns) {
    plain(name + ".weight", "I8", {u(rows), u(columns / 2)}, u(rows) * u(columns) / 2);
    scales(name, u(rows), u(columns / 32));
  }

  void block(bool draft, int layer, const std::string& prefix, int experts) {
    const int width = c_.heads * c_.head_dim, rank = c_.o_groups * c_.o_lora;
    vector(draft, layer, Role::kAttnNorm, prefix + "attn_norm.weight", c_.dim);
    vector(draft, layer, Role::kFfnNorm, prefix + "ffn_norm.weight", c_.dim);
    const std::string attn = prefix + "attn.", ffn = prefix + "ffn.";
    fp8(draft, layer, Role::kAttnQA, attn + "wq_a", c_.q_lora, c_.dim);
    fp8(draft, layer, Role::kAttnQB, attn + "wq_b", width, c_.q_lora);
    fp8(draft, layer, Role::kAttnKv, attn + "wkv", c_.head_dim, c_.dim);
    fp8(draft, layer, Role::kAttnOutA, attn + "wo_a", rank, width / c_.o_groups);
    fp8(draft, layer, Role::kAttnOutB, attn + "wo_b", c_.dim, rank);
    vector(draft, layer, Role::kAttnQANorm, attn + "q_norm.weight", c_.q_lora);
    vector(draft, layer, Role::kAttnKvNorm, attn + "kv_norm.weight", c_.head_dim);
    f32(draft, layer, Role::kAttnSinks, attn + "attn_sink", {u(c_.heads)});
    bf16(draft, layer, Role::kRouter, ffn + "gate.weight", experts, c_.dim);
    f32(draft, layer, Role::kRouterBias, ffn + "gate.bias", {u(experts)});
    numbers<uint32_t>(ffn + "gate.bias_vl", "F32", {u(experts)});
    fp8(draft, layer, Role::kSharedGate, ffn + "shared_experts.w1", c_.moe_inter, c_.dim);
    fp8(draft, layer, Role::kSharedDown, ffn + "shared_experts.w2", c_.dim, c_.moe_inter);
    fp8(draft, layer, Role::kSharedUp, ffn + "shared_experts.w3", c_.moe_inter, c_.dim);
    const uint64_t stream = u(c_.hc_mult) * u(c_.dim), mix = u(c_.hc_coefficients());
    f32(draft, layer, Role::kHcAttnFn, prefix + "hc_attn_fn", {mix, stream});
    f32(draft, layer, Role::kHcAttnBase, prefix + "hc_attn_base", {mix});
    f32(draft, layer, Role::kHcAttnScale, prefix + "hc_attn_scale", {3});
    f32(draft, layer, Role::kHcFfnFn, prefix + "hc_ffn_fn", {mix, stream});
    f32(draft, layer, Role::kHcFfnBase, prefix + "hc_ffn_base", {mix});
    f32(draft, layer, Role::kHcFfnScale, prefix + "hc_ffn_scale", {3});
    for (int expert = 0; expert < experts; ++expert) {
      const std::string name = ffn + "experts." + std::to_string(expert);
      fp4(name + ".w1", c_.moe_inter, c_.dim);
      fp4(name + ".w2", c_.dim, c_.moe_inter);
      fp4(name + ".w3", c_.moe_inter, c_.dim);
    }
  }

  void sources(int layer, const std::string& prefix) {
    const std::string attn = prefix + "attn.";
    if (c_.owns_kv(layer)) {
      const std::string name = attn + "compressor.";
      bf16(false, layer, Role::kCompressorKv, name + "wkv.weight", c_.head_dim, c_.dim);
      if (c_.ratios[static_cast<size_t>(layer)] == 2) {
        bf16(false, layer, Role::kCompressorGate, name + "wgate.weight", c_.head_dim, c_.dim);
      }
      vector(false, layer, Role::kCompressorNorm, name + "norm.weight", c_.head_dim);
      bf16(false, layer, Role::kIndexK, attn + "indexer.wk.weight", c_.index_head_dim, c_.head_dim);
      vector(false, layer, Role::kIndexKNorm, attn + "indexer.k_norm.weight", c_.index_head_dim);
    }
    if (c_.owns_index(layer)) {
      fp8(false, layer, Role::kIndexQB, attn + "indexer.wq_b", c_.index_heads * c_.index_head_dim,
          c_.q_lora);
      bf16(false, layer, Role::kIndexWeights, attn + "indexer.weights_proj.weight", c_.index_heads,
           c_.dim);
    }
    const int which = c_.engram_index(layer);
    if (which < 0) return;
    const std::string name = prefix + "engram.";
    fp8(false, layer, Role::kEngramEmbed, name + "embed",
        derive_engram_tables(c_).rows[static_cast<size_t>(which)], c_.engram_head_dim, true);
    fp8(false, layer, Role::kEngramWkv, name + "wkv", (c_.hc_mult + 1) * c_.dim,
        c_.engram_columns() * c_.engram_head_dim);
    bf16(false, layer, Role::kEngramQ, name + "q_weight", c_.hc_mult, c_.dim);
    bf16(false, layer, Role::kEngramK, name + "k_weight", c_.hc_mult, c_.dim);
  }

  void draft_ends() {
    const int targets = static_cast<int>(c_.draft_targets.size());
    const std::string last = "mtp." + std::to_string(c_.draft_stages - 1) + ".";
    fp8(true, -1, Role::kDraftFc, "mtp.0.main_proj", c_.dim, targets * c_.dim);
    vector(true, -1, Role::kDraftFcNorm, "mtp.0.main_norm.weight", c_.dim);
    vector(true, -1, Role::kOutputNorm, last + "norm.weight", c_.dim);
    bf16(true, -1, Role::kMarkovEmbed, last + "markov_head.embed.weight", c_.vocab, c_.markov_rank);
    bf16(true, -1, Role::kMarkovHead, last + "markov_head.head.weight", c_.vocab, c_.markov_rank);
    bf16(true, -1, Role::kConfidence, last + "confidence_head.proj.weight", 1,
         c_.dim + c_.markov_rank);
  }

  Config c_;
  std::vector<int> map_;
  uint64_t state_;
  CheckpointFixture out_;
};

}  // namespace

std::string CheckpointFixture::shard_name(int shard) {
  return "model-0000" + std::to_string(shard) + "-of-0000" + std::to_string(kShards) +
         ".safetensors";
}

void CheckpointFixture::write(const TempDir& dir) const {
  Json index = {{"metadata", {{"total_size", 0}}}, {"weight_map", Json::object()}};
  for (int shard = 1; shard <= kShards; ++shard) {
    std::vector<FixtureTensor> list;
    for (const auto& [name, tensor] : tensors) {
      if (tensor.shard != shard) continue;
      list.push_back({name, tensor.dtype, Json(tensor.shape).dump(), tensor.data});
      index["weight_map"][name] = shard_name(shard);
    }
    dir.write(shard_name(shard), safetensors_bytes(list));
  }
  for (const auto& [name, shard] : misplaced) index["weight_map"][name] = shard_name(shard);
  dir.write("model.safetensors.index.json", index.dump());
  dir.write("config.json", config.dump());
  dir.write("engram.json", engram.dump());
}

std::vector<float> CheckpointFixture::decoded(const std::string& name) const {
  std::vector<float> out;
  if (const auto plain = tensors.find(name); plain != tensors.end()) {
    const std::string& data = plain->second.data;
    const size_t width = plain->second.dtype == "F32" ? 4 : 2;
    for (size_t at = 0; at < data.size(); at += width) {
      uint32_t wide = 0;
      std::memcpy(reinterpret_cast<char*>(&wide) + (4 - width), data.data() + at, width);
      float value = 0;
      std::memcpy(&value, &wide, sizeof(value));
      out.push_back(value);
    }
    return out;
  }
  const FixtureEntry &values = tensors.at(name + ".weight"), &scales = tensors.at(name + ".scale");
  const bool fp4 = values.dtype == "I8";
  const uint64_t rows = values.shape[0], columns = values.shape[1] * (fp4 ? 2 : 1);
  const uint64_t rows_each = scales.shape[0] == rows ? 1 : 32;
  for (uint64_t row = 0; row < rows; ++row) {
    for (uint64_t column = 0; column < columns; ++column) {
      const uint64_t place = row * columns + column;
      const auto code = static_cast<uint8_t>(values.data[fp4 ? place / 2 : place]);
      const auto scale =
          static_cast<uint8_t>(scales.data[row / rows_each * scales.shape[1] + column / 32]);
      const float number =
          fp4 ? e2m1_to_float(static_cast<uint8_t>(column % 2 == 0 ? code & 15 : code >> 4))
              : e4m3_to_float(code);
      out.push_back(std::ldexp(number, scale - 127));
    }
  }
  return out;
}

CheckpointFixture checkpoint_fixture(uint64_t seed) { return Maker(seed).make(); }

}  // namespace rota
