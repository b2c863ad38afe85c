// Opened models: every weight where the rule puts it in every layout, every defect named,
// fingerprints that tell apart.
#include "model/weight_source.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/temp_dir.h"
#include "model/synthetic.h"
#include "model/synthetic_model.h"
#include "model/weight_fixture.h"

namespace rota {
namespace {

TEST_CASE("dense tensors are the rule's, in model and sidecar") {
  const TempDir dir;
  const auto source = open(write(dir, options_for("mini-xs")));
  const Config& c = source->config();
  const auto check = [](const WeightTensor& tensor, const std::string& name, WeightSpread spread) {
    std::vector<float> expected(tensor.bytes / 4);
    SyntheticValues(name, 1, spread).fill(0, expected.data(), expected.size());
    CHECK(std::memcmp(expected.data(), tensor.f32(), tensor.bytes) == 0);
  };
  check(source->target(Role::kTokenEmbd), "token_embd.weight", {0, 0.12});
  check(source->target(Role::kHcFfnBase, 2), "blk.2.hc_ffn_base.weight", {0, 4.0});
  check(source->draft(Role::kMarkovHead), "dspark.markov_w2.weight", {0, 0.25});
  check(source->draft(Role::kAttnSinks, 1), "dspark.blk.1.attn_sinks.weight", {0, 0.1});
  CHECK(source->target(Role::kEngramEmbed, 1).ne[1] == static_cast<uint64_t>(c.engram_rows(0)));
  CHECK(source->target(Role::kAttnOutA, 0).row_bytes == 128 * 4);
  CHECK(source->totals().dense > 0);
  CHECK(source->totals().draft_experts == 3 * 4 * 3 * 64 * 32 * 4);
}

TEST_CASE("the config survives the file") {
  const TempDir dir;
  const auto source = open(write(dir, options_for("mini-xs2")));
  const Config& c = source->config();
  const Config expected = synthetic_config(named_config("mini-xs2").value(), nullptr).value();
  CHECK(c.name == "mini-xs2");
  CHECK(c.ratios == expected.ratios);
  CHECK(c.kv_source == expected.kv_source);
  CHECK(c.index_source == expected.index_source);
  CHECK(c.engram_primes == expected.engram_primes);
  CHECK(c.engram_offsets == expected.engram_offsets);
  CHECK(c.engram_multipliers == expected.engram_multipliers);
  CHECK(c.engram_token_map == expected.engram_token_map);
  CHECK(c.draft_targets == expected.draft_targets);
  CHECK(c.rms_eps == expected.rms_eps);
  CHECK(c.swiglu_limit == expected.swiglu_limit);
  CHECK(c.route_scale == expected.route_scale);
  CHECK(c.hc_eps == expected.hc_eps);
  CHECK(c.theta == expected.theta);
  CHECK(c.compress_theta == expected.compress_theta);
  CHECK(c.draft_block == expected.draft_block);
  CHECK(c.markov_rank == expected.markov_rank);
  CHECK(c.engram_pad_id == expected.engram_pad_id);
}

TEST_CASE("the sidecar is found beside the model, named, refused or left out") {
  const TempDir dir;
  const std::string path = write(dir, options_for("mini-xs"));
  CHECK(open(path)->has_draft());
  WeightSourceOptions without;
  without.want_draft = false;
  CHECK(!open(path, without)->has_draft());
  CHECK(open(path, without)->config().ratios.size() == 8);
  std::filesystem::rename(dir / "m.dspark.gguf", dir / "elsewhere.gguf");
  CHECK(!open(path)->has_draft());
  WeightSourceOptions named;
  named.draft_path = dir / "elsewhere.gguf";
  CHECK(open(path, named)->has_draft());
  named.draft_path = dir / "none.gguf";
  CHECK(failure(path, named) == (dir / "none.gguf") + ": cannot open: No such file or directory");
  named.draft_path = path;
  CHECK(failure(path, named) ==
        path + ": key general.architecture: is \"deepseek41\", expected \"dflash\"");
  write(dir, options_for("mini-xs2"), "other.gguf");
  named.draft_path = dir / "other.dspark.gguf";
  CHECK(failure(path, named) ==
        (dir / "other.dspark.gguf") +
            ": this sidecar drafts for a deepseek41 of width 96 and vocabulary 160, not for " +
            path);
  CHECK(failure(dir / "elsewhere.gguf") ==
        (dir / "elsewhere.gguf") +
            ": key general.architecture: is \"dflash\", expected \"deepseek41\"");
}

// Replaces bytes `at` places after the only occurrence of `text` in the header.
std::string patched(const TempDir& dir, const std::string& path, const std::string& text, size_t at,
                    const std::string& bytes) {
  std::string file = read_file(path);
  const size_t found = file.find(text);
  REQUIRE(found != std::string::npos);
  file.replace(found + at, bytes.size(), bytes);
  return dir.write("patched.gguf", file);
}

TEST_CASE("a missing, misshapen or misformatted tensor is named") {
  const TempDir dir;
  const std::string path = write(dir, options_for("mini-xs", false));
  const auto tell = [&](const std::string& text, size_t at, const std::string& bytes) {
    const std::string file = patched(dir, path, text, at, bytes);
    return failure(file).substr(file.size() + 2);
  };
  const std::string norm = "blk.3.attn_norm.weight", gate = "blk.3.ffn_gate_exps.weight";
  CHECK(tell(norm, 4, "9") == "tensor blk.3.attn_norm.weight: missing");
  CHECK(tell(gate, 4, "9") == "tensor blk.3.ffn_gate_exps.weight: missing");
  // After the name: dimensions (4 bytes), then ne.
  CHECK(tell(norm, norm.size() + 4, std::string("\x20", 1)) ==
        "tensor blk.3.attn_norm.weight: shape [32, 1], expected [64, 1]");
  CHECK(tell(gate, gate.size() + 4 + 16, std::string("\x04", 1)) ==
        "tensor blk.3.ffn_gate_exps.weight: shape [64, 32, 4], expected [64, 32, 8]");
  // ... and after ne the type.
  CHECK(tell(norm, norm.size() + 12, std::string("\x01", 1)) ==
        "tensor blk.3.attn_norm.weight: format F16, expected F32");
  CHECK(tell("deepseek41.block_count", 11, "B") == "key deepseek41.block_count: missing");
  CHECK(tell("deepseek41.expert_shared_count", 30 + 4, std::string("\x02", 1)) ==
        "key deepseek41.expert_shared_count: is 2, only 1 is supported");
  CHECK(tell("deepseek41.expert_used_count", 28 + 4, std::string("\x63", 1)) ==
        "config: top_k is 99, expected 1 to 8");
}

TEST_CASE("a truncated model is one line that names the file") {
  const TempDir dir;
  const std::string path = write(dir, options_for("mini-xs"));
  const std::string file = read_file(path);
  for (const size_t length :
       {size_t{0}, size_t{10}, size_t{5000}, file.size() / 2, file.size() - 1}) {
    const std::string cut = dir.write("cut.gguf", file.substr(0, length));
    const std::string message = failure(cut);
    CHECK(message.starts_with(cut + ": "));
    CHECK(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("the fingerprint follows weights, formats and keys, never the path nor the sidecar") {
  const TempDir dir, other;
  const auto print = [](const std::string& path) { return open(path)->fingerprint(); };
  const std::string path = write(dir, options_for("mini-xs"));
  const std::string original = print(path);
  CHECK(original.size() == 64);
  CHECK(print(write(other, options_for("mini-xs"), "renamed.gguf")) == original);
  SyntheticOptions options = options_for("mini-xs");
  options.seed = 2;
  CHECK(print(write(other, options)) != original);
  options = options_for("mini-xs");
  options.dense_format = Format::kQ8_0;
  CHECK(print(write(other, options)) != original);
  CHECK(print(write(other, options_for("mini-xs", false))) != original);
  std::string file = read_file(path);
  const uint64_t weight = open(path)->target(Role::kTokenEmbd).offset;
  file[weight] = static_cast<char>(file[weight] ^ 1);
  dir.write("m.gguf", file);
  CHECK(print(path) != original);
}

TEST_CASE("the sidecar has a fingerprint of its own, which follows its weights and nothing else") {
  const TempDir dir;
  const std::string path = write(dir, options_for("mini-xs"));
  const auto source = open(path);
  const std::string original = source->draft_fingerprint();
  CHECK(original.size() == 64);
  CHECK(original != source->fingerprint());
  WeightSourceOptions without;
  without.want_draft = false;
  CHECK(open(path, without)->fingerprint() == source->fingerprint());
  CHECK(open(path, without)->draft_fingerprint().empty());
  const auto patch = [](const std::string& name, uint64_t at) {
    std::string file = read_file(name);
    file[at] = static_cast<char>(file[at] ^ 1);
    std::ofstream(name, std::ios::binary) << file;
  };
  patch(path, source->target(Role::kTokenEmbd).offset);
  CHECK(open(path)->draft_fingerprint() == original);
  const std::string changed = open(path)->fingerprint();
  patch(dir / "m.dspark.gguf", source->draft(Role::kMarkovHead).offset);
  CHECK(open(path)->draft_fingerprint() != original);
  CHECK(open(path)->fingerprint() == changed);
}

TEST_CASE("sidecar paths") {
  CHECK(sidecar_path("/x/m.gguf") == "/x/m.dspark.gguf");
  CHECK(sidecar_path("/x/m-00001-of-00003.gguf") == "/x/m.dspark.gguf");
}

}  // namespace
}  // namespace rota
