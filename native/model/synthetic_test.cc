// The seeded weights: the same numbers as the Python twin, well spread; the tokenizer; and options
// that do not fit.
#include "model/synthetic.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/temp_dir.h"
#include "model/synthetic_model.h"
#include "model/synthetic_tokenizer.h"

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
