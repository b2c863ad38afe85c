// What must hold between the numbers of a model, one broken rule at a time.
#include "model/config.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "model/named_configs.h"
#include "model/synthetic_model.h"
#include "model/tensor_names.h"

namespace rota {
namespace {

Config whole(const std::string& name) {
  const auto named = named_config(name);
  REQUIRE(named.ok());
  const bool text = named.value().config.vocab >= least_tokenizer_vocab();
  TokenizerKeys tokenizer;
  if (text) tokenizer = build_tokenizer(named.value().config.vocab);
  auto config = synthetic_config(named.value(), text ? &tokenizer : nullptr);
  REQUIRE_MESSAGE(config.ok(), config.status().message());
  return config.value();
}

TEST_CASE("every named config is valid") {
  for (const std::string& name : config_names()) CHECK(whole(name).name == name);
  CHECK(named_config("mini-q").status().message() ==
        "unknown config 'mini-q'; there are mini-xs, mini-xs2, mini-s, mini-four, mini-m, wide, "
        "v4.1-flash");
}

TEST_CASE("roles of layers") {
  const Config c = whole("mini-xs");
  const int owners[] = {-1, -1, 2, 2, 4, 5, 5, 5};
  for (int layer = 0; layer < 8; ++layer) CHECK(c.kv_owner(layer) == owners[layer]);
  CHECK(c.owns_kv(2));
  CHECK(!c.owns_kv(3));
  CHECK(c.owns_index(7));
  CHECK(!c.owns_index(6));
  CHECK(c.engram_index(4) == 1);
  CHECK(c.engram_index(2) == -1);
  CHECK(c.hc_coefficients() == 24);
  CHECK(c.engram_columns() == 6);
}

TEST_CASE("sizes of the reference's mini-S") {
  const Config c = whole("mini-s");
  CHECK(c.engram_rows(0) == 12764);
  CHECK(c.engram_rows(1) == 13780);
}

TEST_CASE("wide has experts of the real shape, more than a cache holds in the smallest format") {
  const Config c = whole("wide");
  CHECK(c.dim == 5120);
  CHECK(c.moe_inter == 2304);
  CHECK(c.top_k == 6);
  const auto weights = uint64_t{3} * 5120 * 2304;
  const uint64_t blob = row_bytes(Format::kPTQ1_0, weights).value();
  CHECK(blob * static_cast<uint64_t>(c.layers * c.experts) >= uint64_t{4} << 30);
}

TEST_CASE("v4.1-flash is the released shape") {
  const Config c = whole("v4.1-flash");
  CHECK(c.layers * c.experts == 15360);
  CHECK(c.ratios[2] == 2);
  CHECK(c.ratios[20] == 1);
  CHECK(c.engram_rows(0) > 384000);
  CHECK(c.engram_rows(1) < 400000);
  // Parameters of attention as counted from the released files: 5.06 B.
  uint64_t attention = 0;
  for (const ExpectedTensor& t : target_tensors(c)) {
    const bool is = t.role >= Role::kAttnQA && t.role <= Role::kAttnOutB;
    if (is) attention += t.ne[0] * t.ne[1];
  }
  CHECK(static_cast<double>(attention) * 1e-9 == doctest::Approx(5.06).epsilon(0.02));
}

struct Broken {
  const char* what;
  std::function<void(Config&)> change;
  const char* message;
};

const Broken kBroken[] = {
    {"zero", [](Config& c) { c.dim = 0; }, "config: dim is 0, expected 1 to 16777216"},
    {"negative", [](Config& c) { c.heads = -4; }, "config: heads is -4, expected 1 to 16777216"},
    {"too many chosen", [](Config& c) { c.top_k = 9; }, "config: top_k is 9, expected 1 to 8"},
    {"odd rope", [](Config& c) { c.rope_dim = 15; },
     "config: rope_dim is 15, expected a multiple of 2"},
    {"rope beyond the head", [](Config& c) { c.rope_dim = 128; },
     "config: rope_dim is 128, expected 2 to 64"},
    {"head of no whole rounding blocks", [](Config& c) { c.head_dim = 48; },
     "config: head_dim is 48, expected a multiple of 32"},
    {"groups", [](Config& c) { c.o_groups = 3; }, "config: heads is 4, expected a multiple of 3"},
    {"epsilon", [](Config& c) { c.rms_eps = 0; },
     "config: rms_eps is 0.000000, expected a positive number"},
    {"NaN", [](Config& c) { c.theta = std::stof("nan"); },
     "config: theta is nan, expected a positive number"},
    {"ratios too short", [](Config& c) { c.ratios.pop_back(); },
     "config: the length of ratios is 10, expected 11 (layers + draft stages)"},
    {"ratio 3", [](Config& c) { c.ratios[2] = 3; }, "config: ratios is 3, expected 0 to 2"},
    {"compressed draft stage", [](Config& c) { c.ratios[9] = 1; },
     "config: ratios is 1, expected 0 to 0"},
    {"sources out of order", [](Config& c) { c.kv_source = {4, 2, 5}; },
     "config: kv_source[1] is 2, expected an ascending list"},
    {"source beyond the layers", [](Config& c) { c.index_source.back() = 8; },
     "config: index_source[3] is 8, expected a layer below 8"},
    {"kv source without index", [](Config& c) { c.index_source = {2, 5, 7}; },
     "config: kv_source layer 4 is no index source, expected every kv source to be an index "
     "source"},
    {"index source without compression", [](Config& c) { c.index_source = {1, 2, 4, 5, 7}; },
     "config: ratio of layer 1 is 0, expected 1 or 2, it is an index source"},
    {"compressed before any source", [](Config& c) { c.ratios[1] = 2; },
     "config: ratio of layer 1 is 2, expected 0, no kv source comes before it"},
    {"ratio unlike its source's", [](Config& c) { c.ratios[3] = 1; },
     "config: ratio of layer 3 is 1, expected 2 as its kv source, layer 2, has"},
    {"pool of another layer", [](Config& c) { c.candidate_source = 4; },
     "config: candidate_source is 4, expected the last kv source"},
    {"pool smaller than the list", [](Config& c) { c.candidate_blocks = 2; },
     "config: (candidate_blocks - 1) * candidate_block_size + 1 is 5, expected at least "
     "index_topk, 8"},
    {"index head shorter than rope", [](Config& c) { c.index_head_dim = 8; },
     "config: index_head_dim is 8, expected 16 to 65536"},
    {"token map too short", [](Config& c) { c.engram_token_map.pop_back(); },
     "config: the length of engram_token_map is 127, expected 128"},
    {"token map out of range", [](Config& c) { c.engram_token_map[3] = 64; },
     "config: engram_token_map is 64, expected 0 to 63"},
    {"offset not the running sum", [](Config& c) { c.engram_offsets[1] += 1; },
     "config: engram_offsets[1] is 98, expected 97, the sum of the primes before it"},
    {"multiplier that overflows", [](Config& c) { c.engram_multipliers[0] = INT64_MAX; },
     "config: engram_multipliers is 9223372036854775807, expected 1 to 144115188075855871"},
    {"pad id", [](Config& c) { c.engram_pad_id = 128; },
     "config: engram_pad_id is 128, expected 0 to 63"},
    {"no draft targets", [](Config& c) { c.draft_targets.clear(); },
     "config: draft_targets is empty, expected at least one layer"},
    {"noise id", [](Config& c) { c.draft_noise_id = -1; },
     "config: draft_noise_id is -1, expected 0 to 127"},
    {"draft top-k", [](Config& c) { c.draft_top_k = 5; },
     "config: draft_top_k is 5, expected 1 to 4"},
};

TEST_CASE("each broken rule is named with what was found and what was expected") {
  for (const Broken& broken : kBroken) {
    CAPTURE(broken.what);
    Config config = whole("mini-xs");
    broken.change(config);
    const Status status = validate_config(config);
    CHECK(status.code() == Code::kLoad);
    CHECK(status.message() == broken.message);
  }
}

TEST_CASE("shapes of the released model") {
  Config c;
  c.vocab = 129280, c.dim = 5120, c.layers = 2, c.heads = 64, c.head_dim = 512, c.rope_dim = 64;
  c.q_lora = 1280, c.o_lora = 1024, c.o_groups = 8, c.experts = 384, c.moe_inter = 2304;
  c.ratios = {0, 2};
  c.kv_source = c.index_source = {1};
  c.index_heads = 32, c.index_head_dim = 128;
  const auto shape = [&](const std::string& name) {
    for (const ExpectedTensor& tensor : target_tensors(c)) {
      if (tensor.name == name) return std::pair(tensor.ne[0], tensor.ne[1]);
    }
    return std::pair(uint64_t{0}, uint64_t{0});
  };
  const auto is = [](uint64_t a, uint64_t b) { return std::pair(a, b); };
  CHECK(shape("token_embd.weight") == is(5120, 129280));
  CHECK(shape("blk.0.attn_q_b.weight") == is(1280, 32768));
  CHECK(shape("blk.0.attn_output_a.weight") == is(4096, 8192));
  CHECK(shape("blk.0.attn_output_b.weight") == is(8192, 5120));
  CHECK(shape("blk.0.hc_attn_fn.weight") == is(20480, 24));
  CHECK(shape("blk.0.exp_probs_b.bias") == is(384, 1));
  CHECK(shape("blk.1.attn_compressor_gate.weight") == is(5120, 512));
  CHECK(shape("blk.1.indexer.proj.weight") == is(5120, 32));
  CHECK(shape("blk.0.attn_compressor_kv.weight") == is(0, 0));
}

TEST_CASE("tensor names are unique") {
  for (const std::string& name : config_names()) {
    const Config c = whole(name);
    for (auto list : {target_tensors(c), draft_tensors(c)}) {
      std::sort(list.begin(), list.end(),
                [](const auto& a, const auto& b) { return a.name < b.name; });
      for (size_t i = 1; i < list.size(); ++i) CHECK(list[i].name != list[i - 1].name);
    }
  }
  CHECK(expert_tensor_name(3, ExpertPart::kDown) == "blk.3.ffn_down_exps.weight");
  CHECK(expert_blob_name(0, "Q2_0") == "blk.0.ffn_exps_blob.Q2_0.weight");
  CHECK(expert_map_name(12) == "blk.12.ffn_exps_map");
}

}  // namespace
}  // namespace rota
