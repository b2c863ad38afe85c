// What is found in a released checkpoint's folder, and what is refused, each in one line.
#include "model/checkpoint.h"

#include <doctest/doctest.h>

#include <limits>

#include "model/checkpoint_config.h"
#include "model/checkpoint_fixture.h"
#include "model/checkpoint_rows.h"

namespace rota {
namespace {

// The error of opening what `damage` made of the fixture.
template <typename Damage>
std::string refused(const TempDir& dir, Damage damage) {
  CheckpointFixture fixture = checkpoint_fixture();
  damage(fixture);
  fixture.write(dir);
  const auto opened = Checkpoint::open(dir / "");
  if (opened.ok()) return "opened";
  CHECK(opened.status().code() == Code::kLoad);
  return opened.status().message();
}

TEST_CASE("a checkpoint's matrices are where its names say") {
  const TempDir dir;
  checkpoint_fixture().write(dir);
  const auto opened = Checkpoint::open(dir / "");
  REQUIRE_MESSAGE(opened.ok(), opened.status().message());
  const Checkpoint& checkpoint = *opened.value();
  const CheckpointMatrix& q = checkpoint.target(Role::kAttnQA, 4);
  CHECK(q.name == "layers.4.attn.wq_a");
  CHECK(q.model_name == "blk.4.attn_q_a.weight");
  CHECK(q.columns == 96);
  CHECK(q.rows == 64);
  const CheckpointMatrix& down = checkpoint.expert(true, 1, 3, ExpertPart::kDown);
  CHECK(down.name == "mtp.1.ffn.experts.3.w2");
  CHECK(down.columns == 64);
  CHECK(down.rows == 96);
  CHECK(checkpoint.draft(Role::kDraftFc).name == "mtp.0.main_proj");
  CHECK(checkpoint.draft(Role::kConfidence).name == "mtp.1.confidence_head.proj.weight");
  // Three tensors of the vision part, and the router's bias for images of 10 layers and 2 stages.
  CHECK(checkpoint.ignored_tensors() == 15);
  std::vector<float> row(96);
  REQUIRE(checkpoint.decode_rows(q, 63, 1, row.data()).ok());
  const std::vector<float> all = checkpoint_fixture().decoded(q.name);
  CHECK(std::equal(row.begin(), row.end(), all.end() - 96));
}

TEST_CASE("the released sizes imply the release's tensors") {
  // 96,085 tensors in the release's index, of which 266 are the vision part's.
  Config c;
  c.layers = 40, c.draft_stages = 3, c.o_groups = 1, c.experts = 384, c.draft_experts = 128;
  c.ratios.assign(43, 0);
  for (int layer = 2; layer < 40; ++layer)
    c.ratios[static_cast<size_t>(layer)] = layer < 20 ? 2 : 1;
  c.kv_source = {2, 8, 14, 20};
  c.index_source = {2, 8, 14, 20, 24, 28, 32, 36};
  c.engram_layers = {1, 14};
  c.engram_heads = 1, c.engram_max_ngram = 2;
  c.engram_primes = {7, 11}, c.engram_offsets = {0, 0};
  uint64_t tensors = 0;
  for (const bool draft : {false, true}) {
    for (const ExpectedTensor& expected : draft ? draft_tensors(c) : target_tensors(c)) {
      tensors += has_scales(stored_as(expected.role)) ? 2 : 1;
    }
  }
  tensors += uint64_t{6} * (40 * 384 + 3 * 128);  // experts: three matrices with scales each
  tensors += 43;                                  // bias_vl
  CHECK(tensors == 96085 - 266);
}

TEST_CASE("a damaged checkpoint is refused, with file and tensor") {
  const TempDir dir;
  const std::string index = dir / "model.safetensors.index.json";
  const std::string first = dir / CheckpointFixture::shard_name(1);
  const auto shard_of = [&](const char* name) {
    return dir / CheckpointFixture::shard_name(checkpoint_fixture().tensors.at(name).shard);
  };
  CHECK(refused(dir, [](CheckpointFixture&) {}) == "opened");
  CHECK(refused(dir, [](CheckpointFixture& f) { f.tensors.erase("layers.3.attn.wkv.weight"); }) ==
        index + ": names no tensor layers.3.attn.wkv.weight, which config.json implies");
  const std::string absent = "layers.3.attn.wkv.scale";
  const int held = checkpoint_fixture().tensors.at(absent).shard, wrong = held % 3 + 1;
  CHECK(refused(dir, [&](CheckpointFixture& f) { f.misplaced[absent] = wrong; }) ==
        dir / CheckpointFixture::shard_name(wrong) + ": tensor " + absent +
            ": missing, by the index it is in this file");
  CHECK(refused(dir, [](CheckpointFixture& f) { f.tensors["norm.weight"].dtype = "F16"; }) ==
        shard_of("norm.weight") + ": tensor norm.weight: is F16, expected BF16");
  const auto reshaped = [](CheckpointFixture& f) {
    f.tensors["layers.0.ffn.experts.2.w1.weight"].shape = {32, 96};
  };
  CHECK(refused(dir, reshaped) == shard_of("layers.0.ffn.experts.2.w1.weight") +
                                      ": tensor layers.0.ffn.experts.2.w1.weight: shape [32, 96], "
                                      "expected [64, 48]");
  const auto extra = [](CheckpointFixture& f) {
    f.tensors["layers.0.attn.compressor.wkv.weight"] = {"BF16", {1, 2}, "abcd", 1};
  };
  CHECK(refused(dir, extra) == index + ": tensor layers.0.attn.compressor.wkv.weight in " +
                                   CheckpointFixture::shard_name(1) +
                                   " is none that config.json implies");
  checkpoint_fixture().write(dir);
  std::filesystem::remove(first);
  const std::string missing = Checkpoint::open(dir / "").status().message();
  CHECK(missing.starts_with(first + ": cannot open: No such file or directory; by the index it has "
                                    "tensor "));
}

TEST_CASE("texts that are missing or damaged are refused, with file and key") {
  const TempDir dir;
  const auto with = [&](const char* name, const std::string& text) {
    checkpoint_fixture().write(dir);
    dir.write(name, text);
    const auto opened = Checkpoint::open(dir / "");
    return opened.ok() ? "opened" : opened.status().message();
  };
  const auto without = [&](const char* name) {
    checkpoint_fixture().write(dir);
    std::filesystem::remove(dir / name);
    const auto opened = Checkpoint::open(dir / "");
    return opened.ok() ? "opened" : opened.status().message();
  };
  const std::string config = dir / "config.json", index = dir / "model.safetensors.index.json";
  CHECK(Checkpoint::open(config).status().message() ==
        config + ": is no folder; name the one that holds config.json and the safetensors files");
  CHECK(without("config.json") == config + ": missing: the model's sizes, as the release has them");
  CHECK(without("engram.json").starts_with(dir / "engram.json" + ": missing: {\"token_map\": "));
  CHECK(without("model.safetensors.index.json") ==
        index + ": missing: it says which file holds which tensor");
  CHECK(with("config.json", "{") == config + ": is no JSON (is it whole?)");
  CHECK(with("engram.json", "[]") == dir / "engram.json" + ": is no JSON object");
  CHECK(with("engram.json", R"({"token_map":[0,1]})") ==
        dir / "engram.json" + ": token_map has 2 entries, config.json a vocabulary of 160");
  CHECK(with("model.safetensors.index.json", "{}") == index + ": has no weight_map");
  CHECK(with("model.safetensors.index.json", R"({"weight_map":{"a":"x","a":"y"}})") ==
        index + ": names tensor a twice");
  for (const char* file : {"../x", "sub/x", "/x", ".", ""}) {
    CHECK(with("model.safetensors.index.json",
               R"({"weight_map":{"a":")" + std::string(file) + R"("}})") ==
          index + ": tensor a is in no file of this folder");
  }
}

TEST_CASE("a config of another model is refused, with the key") {
  const auto read = [](const char* key, const nlohmann::json& value) {
    nlohmann::json config = checkpoint_fixture().config;
    config["text_config"][key] = value;
    const auto result = read_checkpoint_config("c", config.dump());
    return result.ok() ? "read" : result.status().message();
  };
  CHECK(read("hidden_size", 96) == "read");
  CHECK(read("hidden_size", nullptr) == "c: text_config.hidden_size is missing");
  CHECK(read("hidden_size", "96") == "c: text_config.hidden_size is no whole number");
  CHECK(read("hidden_size", 96.5) == "c: text_config.hidden_size is no whole number");
  CHECK(read("hidden_size", 1ull << 40) == "c: text_config.hidden_size is out of range");
  CHECK(read("rope_theta", "x") == "c: text_config.rope_theta is no number");
  CHECK(read("rope_theta", 1e300) == "c: text_config.rope_theta is out of range");
  CHECK(read("compress_ratios", 2) == "c: text_config.compress_ratios is no list");
  CHECK(read("rope_scaling", 2) == "c: text_config.rope_scaling is no object");
  CHECK(read("rope_scaling", {{"type", "linear"}}) ==
        "c: text_config.rope_scaling.type is not \"yarn\", which alone is supported");
  CHECK(read("scoring_func", "sigmoid") ==
        "c: text_config.scoring_func is not \"sqrtsoftplus\", which alone is supported");
  CHECK(read("n_shared_experts", 2) ==
        "c: text_config.n_shared_experts is not 1, which alone is supported");
  CHECK(read("engram_vocab_size", 1) ==
        "c: text_config.engram_vocab_size is 1, expected 2 to 268435456");
  CHECK(read("engram_pad_token_id", 160) ==
        "c: text_config.engram_pad_token_id is 160, expected 0 to 159");
  nlohmann::json other = checkpoint_fixture().config;
  other["quantization_config"]["weight_block_size"] = {128, 128};
  CHECK(read_checkpoint_config("c", other.dump()).status().message() ==
        "c: quantization_config.weight_block_size is not [32,32], which alone is supported");
}

TEST_CASE("the tables of the config and of the map must be the same") {
  const CheckpointFixture fixture = checkpoint_fixture();
  nlohmann::json config = fixture.config;
  config["text_config"]["engram_num_embeddings"][1] = 7;
  auto read = read_checkpoint_config("c", config.dump());
  REQUIRE(read.ok());
  const Status rows = read_token_map("e", fixture.engram.dump(), read.value());
  CHECK(rows.message().starts_with("e: the Engram tables have ["));
  CHECK(rows.message().ends_with("7]"));
  config["text_config"]["engram_compressed_vocab_size"] = 101;
  read = read_checkpoint_config("c", config.dump());
  CHECK(read_token_map("e", fixture.engram.dump(), read.value()).message() ==
        "e: token_map ends at id 99, config.json has 101 compressed ids");
  nlohmann::json largest = fixture.engram;
  largest["token_map"][0] = std::numeric_limits<int>::max();
  CHECK(read_token_map("e", largest.dump(), read.value()).message() ==
        "e: token_map ends at id 2147483647, config.json has 101 compressed ids");
}

TEST_CASE("a scale or a weight that is no number is found when it is read, with its place") {
  const auto read = [](const char* name, size_t byte, const std::string& bytes) {
    const TempDir dir;
    CheckpointFixture fixture = checkpoint_fixture();
    const std::string tensor = name;
    fixture.tensors.at(tensor).data.replace(byte, bytes.size(), bytes);
    fixture.write(dir);
    const auto opened = Checkpoint::open(dir / "");
    REQUIRE_MESSAGE(opened.ok(), opened.status().message());
    std::string found;
    const auto look = [&](const CheckpointMatrix& m) {
      std::vector<float> out(m.columns * m.rows);
      const Status status = opened.value()->decode_rows(m, 0, m.rows, out.data());
      if (!status.ok()) found += status.message().substr(status.message().find(": tensor ") + 2);
    };
    for (const CheckpointMatrix& m : opened.value()->dense(false)) look(m);
    for (int e = 0; e < 7; ++e) look(opened.value()->expert(false, 0, e, ExpertPart::kUp));
    return found;
  };
  CHECK(read("layers.1.attn.wq_a.scale", 4, "\xff") ==
        "tensor layers.1.attn.wq_a.scale: row 1, column 1: the scale is no number (255)");
  CHECK(read("layers.2.engram.embed.scale", 9, "\xff") ==
        "tensor layers.2.engram.embed.scale: row 9, column 0: the scale is no number (255)");
  CHECK(read("layers.0.ffn.experts.6.w3.scale", 3, "\xff") ==
        "tensor layers.0.ffn.experts.6.w3.scale: row 1, column 0: the scale is no number (255)");
  CHECK(read("layers.1.attn.wq_a.weight", 97, "\xff") ==
        "tensor layers.1.attn.wq_a.weight: row 1, column 1: is no number");
  CHECK(read("layers.1.hc_attn_base", 4, std::string("\0\0\x80\x7f", 4)) ==
        "tensor layers.1.hc_attn_base: row 0, column 1: is not finite");
  CHECK(read("embed.weight", 194, "\xc0\xff") ==
        "tensor embed.weight: row 1, column 1: is not finite");
}

TEST_CASE("nibbles of 32 weights: neighbours in a byte become neighbours of halves") {
  uint8_t in[16], out[16];
  for (int k = 0; k < 16; ++k) in[k] = static_cast<uint8_t>((2 * k) % 16 | (2 * k + 1) % 16 << 4);
  in[8] = 0x5a;  // weights 16 and 17
  checkpoint_internal::reorder_nibbles(in, out);
  CHECK(out[0] == 0xa0);
  CHECK(out[1] == 0x51);
  for (int j = 2; j < 16; ++j) CHECK(out[j] == static_cast<uint8_t>(j | j << 4));
}

}  // namespace
}  // namespace rota
