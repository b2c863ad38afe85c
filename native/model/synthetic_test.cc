// The seeded weights: the same numbers as the Python twin, well spread; the tokenizer; and options
// that do not fit.
#include "model/synthetic.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "base/temp_dir.h"
#include "model/synthetic_model.h"
#include "model/synthetic_tokenizer.h"
#include "model/weight_source.h"

namespace rota {
namespace {

std::vector<float> values(const char* name, uint64_t seed, WeightSpread spread, uint64_t first,
                          size_t n) {
  std::vector<float> out(n);
  SyntheticValues(name, seed, spread).fill(first, out.data(), n);
  return out;
}

// Written by golden/synthetic_rule.py: values(name, seed, 1000, 0.25, 2.0) at 0, 1, 2 and 999.
TEST_CASE("values are those of the Python twin, bit for bit") {
  const auto check = [](const char* name, uint64_t seed, std::vector<uint32_t> golden) {
    const auto all = values(name, seed, {0.25, 2.0}, 0, 1000);
    const size_t at[] = {0, 1, 2, 999};
    for (size_t i = 0; i < 4; ++i) CHECK(std::bit_cast<uint32_t>(all[at[i]]) == golden[i]);
  };
  check("token_embd.weight", 1, {0x3f2f3402, 0xc01928c4, 0x400fca22, 0xbef8f016});
  check("dspark.blk.0.ffn_gate_exps.weight", 12345678901234567890u,
        {0x40b8f25b, 0x3ecb73d8, 0xbdbd96df, 0xbf0daaeb});
}

TEST_CASE("a value does not depend on how the tensor is cut") {
  const auto whole = values("t", 3, {0, 1}, 0, 500);
  const auto part = values("t", 3, {0, 1}, 123, 100);
  CHECK(std::vector<float>(whole.begin() + 123, whole.begin() + 223) == part);
}

TEST_CASE("names and seeds give other values; mean and spread are as asked") {
  CHECK(values("a", 1, {0, 1}, 0, 8) != values("b", 1, {0, 1}, 0, 8));
  CHECK(values("a", 1, {0, 1}, 0, 8) != values("a", 2, {0, 1}, 0, 8));
  constexpr size_t kCount = 100000;
  double sum = 0, squares = 0;
  for (const float v : values("stats", 5, {1.0, 0.1}, 0, kCount)) {
    sum += static_cast<double>(v);
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  const double mean = sum / kCount, std = std::sqrt(squares / kCount - mean * mean);
  // Four standard errors of n values: std / sqrt(n) and std / sqrt(2 n).
  CHECK(std::fabs(mean - 1.0) < 4 * 0.1 / std::sqrt(kCount));
  CHECK(std::fabs(std - 0.1) < 4 * 0.1 / std::sqrt(2.0 * kCount));
  for (const float v : values("fixed", 1, {0.5, 0.0}, 0, 4)) CHECK(v == 0.5f);
}

TEST_CASE("the mix of formats is near its shares and follows the seed") {
  std::map<Format, int> counts;
  for (int layer = 0; layer < 40; ++layer) {
    for (int expert = 0; expert < 384; ++expert) ++counts[mixed_format(1, false, layer, expert)];
  }
  constexpr double kAll = 40 * 384;
  // Four standard errors of a share are below 0.016.
  CHECK(std::fabs(counts[Format::kPTQ1_0] / kAll - 0.428) < 0.016);
  CHECK(std::fabs(counts[Format::kQ2_0] / kAll - 0.392) < 0.016);
  CHECK(std::fabs(counts[Format::kQ3_K] / kAll - 0.180) < 0.016);
  int same = 0;
  for (int expert = 0; expert < 384; ++expert) {
    same += mixed_format(1, false, 0, expert) == mixed_format(2, false, 0, expert);
  }
  CHECK(same < 300);
}

TEST_CASE("pieces that merges never cross") {
  const auto pieces = [](const char* text) { return tokenizer_internal::pieces(text); };
  using List = std::vector<std::string>;
  CHECK(pieces("Hello world") == List{"Hello", " world"});
  CHECK(pieces("12345 6") == List{"123", "45", " ", "6"});
  CHECK(pieces("a  b") == List{"a", " ", " b"});
  CHECK(pieces("x = foo(1);\n\n  y") == List{"x", " =", " foo", "(", "1", ");\n\n", " ", " y"});
  CHECK(pieces("self.name") == List{"self", ".name"});
  CHECK(pieces("天气很好，去") == List{"天气很好", "，", "去"});
  CHECK(pieces("end \n\nnext") == List{"end", " \n\n", "next"});
}

TEST_CASE("every merge joins two tokens into a token; bytes and special tokens have their places") {
  const TokenizerKeys t = build_tokenizer(1024);
  REQUIRE(t.tokens.size() == 1024);
  CHECK(t.types.size() == 1024);
  const std::set<std::string> known(t.tokens.begin(), t.tokens.end());
  CHECK(known.size() == 1024);
  CHECK(t.tokens[0] == "<｜begin▁of▁sentence｜>");
  CHECK(t.tokens[1] == "<｜end▁of▁sentence｜>");
  CHECK(t.tokens.back() == "<｜dspark▁noise｜>");
  CHECK(t.tokens[11 + 'A'] == "A");
  CHECK(t.tokens[11 + ' '] == "Ġ");
  CHECK(t.tokens[11 + '\n'] == "Ċ");
  CHECK(t.types[11 + 255] == 1);
  int broken = 0;
  for (const std::string& merge : t.merges) {
    const size_t space = merge.find(' ');
    const std::string left = merge.substr(0, space), right = merge.substr(space + 1);
    broken += !known.contains(left) || !known.contains(right) || !known.contains(left + right);
  }
  CHECK(broken == 0);
  CHECK(t.merges.size() >= 1024 - 256 - 12);
  CHECK(known.contains("Ġthe"));
}

TEST_CASE("a vocabulary beyond the text's merges is filled with reserved tokens") {
  const TokenizerKeys t = build_tokenizer(4096);
  CHECK(t.tokens.size() == 4096);
  CHECK(t.types[4094] == 5);
  CHECK(t.tokens[4094] == "<｜reserved▁4094｜>");
  const TokenizerKeys least = build_tokenizer(least_tokenizer_vocab());
  CHECK(least.merges.empty());
}

TEST_CASE("tokens of the same text share a compressed id") {
  const TokenizerKeys t = build_tokenizer(1024);
  const TokenMap map = compress_tokens(t);
  const auto id = [&](const std::string& token) {
    const auto found = std::find(t.tokens.begin(), t.tokens.end(), token);
    REQUIRE(found != t.tokens.end());
    return map.ids[static_cast<size_t>(found - t.tokens.begin())];
  };
  CHECK(id("A") == id("a"));
  CHECK(id("Ġthe") == id("the"));
  CHECK(id("Ċ") == id("Ġ"));  // any white space alone is one space
  CHECK(id("a") != id("b"));
  CHECK(map.ids[0] == 0);
  std::set<int> used(map.ids.begin(), map.ids.end());
  CHECK(static_cast<int>(used.size()) == map.compressed_vocab);
  CHECK(*used.rbegin() == map.compressed_vocab - 1);
  CHECK(map.compressed_vocab < 1024);
}

std::string refusal(const SyntheticOptions& options, const std::string& path) {
  const auto files = write_synthetic_model(options, path);
  if (files.ok()) return "accepted";
  CHECK(files.status().code() == Code::kUsage);
  return files.status().message();
}

TEST_CASE("stopped at any place, it leaves no file: no half, no shard alone, no model alone") {
  SyntheticOptions options;
  options.config = "mini-xs";
  options.shards = 3;
  int asked = 0;
  options.stopped = [&asked] { return ++asked < 0; };
  const TempDir whole;
  REQUIRE(write_synthetic_model(options, whole / "m.gguf").ok());
  const int all = asked;
  REQUIRE(all > 20);
  // The last is asked when the sidecar is all but closed.
  for (const int at : {1, all / 4, all / 2, all - 8, all}) {
    const TempDir dir;
    int left = at;
    options.stopped = [&left] { return --left == 0; };
    CHECK(write_synthetic_model(options, dir / "m.gguf").status().code() == Code::kCancelled);
    CHECK(std::filesystem::is_empty(dir / ""));
  }
}

TEST_CASE(
    "the files do not depend on how many threads write them, and every expert has its own bits") {
  SyntheticOptions options;
  options.config = "mini-four";
  options.values = ValueKind::kRandom;
  options.skew = SkewOptions{0.5, 0.8};
  options.shards = 2;
  std::vector<std::string> first;
  for (const int threads : {1, 3}) {
    options.threads = threads;
    const TempDir dir;
    const auto files = write_synthetic_model(options, dir / "m.gguf");
    REQUIRE_MESSAGE(files.ok(), files.status().message());
    CHECK(files.value().ranking.size() == 4 * 6);
    std::vector<std::string> bytes;
    for (const std::string& file : files.value().model) bytes.push_back(read_file(file));
    bytes.push_back(read_file(files.value().sidecar));
    if (first.empty()) first = bytes;
    CHECK(bytes == first);
  }
  // Eight bytes of codes, twice in all experts of the model: 2^-64 a pair.
  const TempDir dir;
  options.shards = 1;
  REQUIRE(write_synthetic_model(options, dir / "m.gguf").ok());
  const auto source = WeightSource::open(dir / "m.gguf", {});
  REQUIRE(source.ok());
  std::set<uint64_t> seen;
  for (int layer = 0; layer < 4; ++layer) {
    for (int e = 0; e < 6; ++e) {
      const ExpertBlob& blob = source.value()->expert(layer, e);
      for (const uint64_t part : blob.part_offset) {
        uint64_t bits = 0;
        std::memcpy(&bits, source.value()->mapped(blob.spans[0]) + part + 4, sizeof bits);
        CHECK(seen.insert(bits).second);
      }
    }
  }
  CHECK(source.value()->config().synthetic ==
        "mini-four, seed 1, values random, 50.0 % of the experts get 80.0 % of the lookups");
}

TEST_CASE("a file that cannot be put in its place takes the others with it") {
  SyntheticOptions options;
  options.config = "mini-xs";
  options.shards = 2;
  const TempDir dir;
  std::filesystem::create_directory(dir / "m.dspark.gguf");
  CHECK(write_synthetic_model(options, dir / "m.gguf").status().code() == Code::kIo);
  CHECK(std::filesystem::is_empty(dir / "m.dspark.gguf"));
  std::filesystem::remove(dir / "m.dspark.gguf");
  CHECK(std::filesystem::is_empty(dir / ""));
}

TEST_CASE("the first layers of a model keep their sources, and the last of them feed the drafter") {
  auto named = named_config("v4.1-flash");
  REQUIRE(named.ok());
  Config& c = named.value().config;
  CHECK(cut_layers(named.value(), 41).message() == "v4.1-flash has 40 layers, not 41");
  REQUIRE(cut_layers(named.value(), 24).ok());
  CHECK(c.ratios.size() == 27);
  CHECK(c.ratios[19] == 2);
  CHECK(c.ratios[23] == 1);
  CHECK(c.ratios[24] == 0);
  CHECK(c.kv_source == std::vector<int>{2, 8, 14, 20});
  CHECK(c.index_source == std::vector<int>{2, 8, 14, 20});
  CHECK(c.candidate_source == 20);
  CHECK(c.engram_layers == std::vector<int>{1, 14});
  CHECK(c.draft_targets == std::vector<int>{21, 22, 23});
  REQUIRE(cut_layers(named.value(), 2).ok());
  CHECK(c.kv_source.empty());
  CHECK(c.candidate_source == -1);
  CHECK(c.engram_layers == std::vector<int>{1});
  CHECK(c.draft_targets == std::vector<int>{0, 1});
}

TEST_CASE("a cut model opens, and says what was cut; Engram tables are as large as asked for") {
  SyntheticOptions options;
  options.config = "mini-xs";
  options.layers = 3;
  options.engram_rows = 3000;
  const TempDir dir;
  REQUIRE(write_synthetic_model(options, dir / "m.gguf").ok());
  const auto source = WeightSource::open(dir / "m.gguf", {});
  REQUIRE_MESSAGE(source.ok(), source.status().message());
  const Config& c = source.value()->config();
  CHECK(c.synthetic == "mini-xs, the first 3 of its 8 layers, seed 1, values normal");
  CHECK(c.engram_rows(0) >= 3000);
  CHECK(c.engram_rows(0) < 3300);
  CHECK(c.draft_targets == std::vector<int>{0, 1, 2});
}

TEST_CASE("options that do not fit are refused with the numbers") {
  const TempDir dir;
  const std::string path = dir / "m.gguf";
  SyntheticOptions xs;
  xs.config = "mini-xs";
  SyntheticOptions options = xs;
  options.mixed_experts = true;
  CHECK(refusal(options, path) ==
        "expert format PTQ1_0 needs rows of a multiple of 128 weights; mini-xs has gate and up "
        "rows of 64 and "
        "down rows of 32");
  options = xs;
  options.expert_format = Format::kQ2_0;
  CHECK(refusal(options, path).starts_with("expert format Q2_0 needs rows of a multiple of 64"));
  options = {};
  options.mixed_experts = true;
  options.family = Family::kA;
  CHECK(refusal(options, path) ==
        "mixed expert formats need the layout ours: a plain tensor has one format");
  options = xs;
  options.dense_format = Format::kI32;
  CHECK(refusal(options, path) == "integer formats hold no weights");
  options = xs;
  options.shards = 100000;
  CHECK(refusal(options, path).starts_with("shards must be 1 to "));
  CHECK(refusal(xs, dir / "m.bin") ==
        "the model file must be named STEM.gguf, not '" + (dir / "m.bin") + "'");
  CHECK(refusal(xs, dir / "m-00001-of-00002.gguf").starts_with("the model file must be named"));
  options = xs;
  options.before_write = [](uint64_t bytes) {
    return Status(Code::kUsage, bytes > 1000000 ? "too big" : "small");
  };
  CHECK(refusal(options, path) == "too big");
  CHECK(std::filesystem::is_empty(dir / ""));
}

}  // namespace
}  // namespace rota
