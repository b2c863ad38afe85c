// Engram tables out of safetensors: the same rows, wherever an earlier run was stopped; what is
// wrong with the sources by name; and the model that reads them.
#include "model/engram_extract.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/temp_dir.h"
#include "formats/numbers.h"
#include "formats/safetensors_fixture.h"
#include "model/file_logits.h"
#include "model/sequence_fixture.h"
#include "model/weight_fixture.h"

namespace rota {
namespace {

constexpr size_t kDim = 64;

// A table's codes and scales, apart as the released files have them.
struct Table {
  std::string codes, scales;
};

Table random_table(size_t rows, uint64_t seed) {
  Table table;
  for (size_t i = 0; i < rows * kDim; ++i) {
    const auto code = static_cast<char>(splitmix64(seed * 1000003 + i));
    table.codes += (code & 0x7f) == 0x7f ? '\0' : code;  // no NaN
  }
  for (size_t i = 0; i < rows * kDim / 32; ++i) {
    table.scales += static_cast<char>(120 + splitmix64(seed * 77 + i) % 12);
  }
  return table;
}

std::vector<FixtureTensor> tensors_of(int layer, size_t rows, const Table& table) {
  const std::string name = "layers." + std::to_string(layer) + ".engram.embed.";
  const std::string count = "[" + std::to_string(rows) + ", ";
  return {{name + "weight", "F8_E4M3", count + std::to_string(kDim) + "]", table.codes},
          {name + "scale", "F8_E8M0", count + std::to_string(kDim / 32) + "]", table.scales}};
}

// Two shards beside a third that has no table.
void write_shards(const TempDir& dir, size_t rows) {
  dir.write("model-1.safetensors", safetensors_bytes({{"embed.weight", "BF16", "[1]", "ab"}}));
  dir.write("model-2.safetensors", safetensors_bytes(tensors_of(14, rows, random_table(rows, 14))));
  dir.write("model-3.safetensors",
            safetensors_bytes(tensors_of(1, rows + 5, random_table(rows + 5, 1))));
}

ExtractOptions options_from(const TempDir& dir) {
  ExtractOptions options;
  options.from = {dir / ""};
  options.out = dir / "out.gguf";
  return options;
}

std::string failure_of(const ExtractOptions& options) {
  auto result = extract_engram(options);
  return result.ok() ? "extracted" : result.status().message();
}

TEST_CASE("rows are scale by scale before their codes, layers in order") {
  const TempDir dir;
  constexpr size_t kRows = 40;
  write_shards(dir, kRows);
  auto result = extract_engram(options_from(dir));
  REQUIRE_MESSAGE(result.ok(), result.status().message());
  CHECK(result->layers == std::vector<int>{1, 14});
  CHECK(result->rows == std::vector<uint64_t>{kRows + 5, kRows});
  auto gguf = Gguf::open(dir / "out.gguf");
  REQUIRE_MESSAGE(gguf.ok(), gguf.status().message());
  const GgufTensor& tensor = *gguf->tensor("blk.14.engram_embed.weight");
  CHECK(tensor.format == Format::kMXFP8);
  const Table table = random_table(kRows, 14);
  std::vector<float> row(kDim);
  for (size_t r = 0; r < kRows; ++r) {
    decode_row(Format::kMXFP8, tensor.data + r * 66, row.data(), kDim);
    for (size_t i = 0; i < kDim; ++i) {
      const auto code = static_cast<uint8_t>(table.codes[r * kDim + i]);
      const auto scale = static_cast<uint8_t>(table.scales[(r * kDim + i) / 32]);
      REQUIRE(row[i] == e4m3_to_float(code) * e8m0_to_float(scale));
    }
  }
  CHECK(!std::filesystem::exists(dir / "out.gguf.partial"));
  CHECK(failure_of(options_from(dir)) ==
        "--out: " + (dir / "out.gguf") + " exists; remove it or name another");
}

TEST_CASE("a run that was stopped anywhere goes on, and ends with the same file") {
  const TempDir dir;
  write_shards(dir, 300);
  REQUIRE(extract_engram(options_from(dir)).ok());
  const std::string whole = read_file(dir / "out.gguf");
  std::filesystem::remove(dir / "out.gguf");
  for (const size_t length : {size_t{0}, size_t{1}, size_t{4095}, size_t{4096}, size_t{9000},
                              size_t{24600}, whole.size() - 1, whole.size()}) {
    CAPTURE(length);
    dir.write("out.gguf.partial", whole.substr(0, length));
    auto result = extract_engram(options_from(dir));
    REQUIRE_MESSAGE(result.ok(), result.status().message());
    CHECK(result->resumed_bytes == (length < 4096 ? 0 : length));
    CHECK(read_file(dir / "out.gguf") == whole);
    std::filesystem::remove(dir / "out.gguf");
  }
  dir.write("out.gguf.partial", whole + "more");
  REQUIRE(extract_engram(options_from(dir)).ok());
  CHECK(read_file(dir / "out.gguf") == whole);
}

TEST_CASE("what an earlier run left is checked: its source, and every byte at the end") {
  const TempDir dir;
  write_shards(dir, 300);
  REQUIRE(extract_engram(options_from(dir)).ok());
  std::string bytes = read_file(dir / "out.gguf");
  std::filesystem::remove(dir / "out.gguf");
  bytes[9000] = static_cast<char>(bytes[9000] ^ 1);
  dir.write("out.gguf.partial", bytes);
  CHECK(failure_of(options_from(dir)).find("offset 9000: differs from") != std::string::npos);
  CHECK(!std::filesystem::exists(dir / "out.gguf"));
  // The same shapes, other codes.
  dir.write("model-2.safetensors", safetensors_bytes(tensors_of(14, 300, random_table(300, 99))));
  CHECK(failure_of(options_from(dir)) ==
        (dir / "out.gguf.partial") + ": was begun from other files; remove it to start anew");
}

TEST_CASE("the bytes that are still needed are asked for before any is written") {
  const TempDir dir;
  write_shards(dir, 300);
  ExtractOptions options = options_from(dir);
  uint64_t needed = 0;
  options.before_write = [&](uint64_t bytes) {
    needed = bytes;
    return Status(Code::kIo, "no room");
  };
  CHECK(failure_of(options) == "no room");
  CHECK(!std::filesystem::exists(dir / "out.gguf.partial"));
  const uint64_t all = needed;
  options.before_write = nullptr;
  REQUIRE(extract_engram(options).ok());
  CHECK(std::filesystem::file_size(dir / "out.gguf") == all);
  std::filesystem::rename(dir / "out.gguf", dir / "out.gguf.partial");
  std::filesystem::resize_file(dir / "out.gguf.partial", 10000);
  options.before_write = [&](uint64_t bytes) { return needed = bytes, Status(); };
  REQUIRE(extract_engram(options).ok());
  CHECK(needed == all - 10000);
}

TEST_CASE("sources without tables, or with wrong ones, are refused by name") {
  const TempDir dir;
  const std::string path = dir / "x.safetensors";
  const auto tell = [&](std::vector<FixtureTensor> tensors) {
    dir.write("x.safetensors", safetensors_bytes(tensors));
    ExtractOptions options = options_from(dir);
    options.from = {path};
    return failure_of(options);
  };
  const Table table = random_table(4, 1);
  auto tensors = tensors_of(1, 4, table);
  const std::string name = "layers.1.engram.embed.weight", scale = "layers.1.engram.embed.scale";
  CHECK(tell({{"layers.x.engram.embed.weight", "F8_E4M3", "[1, 1]", "a"}}) ==
        path + ": no tensor layers.N.engram.embed.weight in 1 files");
  CHECK(tell({tensors[0]}) ==
        path + ": tensor " + name + " is there, " + scale + " is in none of the files");
  auto wrong = tensors;
  wrong[0].dtype = "I8";
  CHECK(tell(wrong) ==
        path + ": tensor " + name + " is no F8_E4M3 matrix with rows of a multiple of 32");
  wrong = tensors;
  wrong[1].shape = "[8, 1]";
  CHECK(tell(wrong) == path + ": tensor " + scale + " is no F8_E8M0 matrix of 4 rows of 2");
  ExtractOptions twice = options_from(dir);
  dir.write("x.safetensors", safetensors_bytes(tensors));
  dir.write("y.safetensors", safetensors_bytes(tensors));
  CHECK(failure_of(twice).find(" is also in ") != std::string::npos);
  twice.from = {dir / "none"};
  CHECK(failure_of(twice).starts_with((dir / "none") + ": cannot open"));
}

// What the released files would hold of a synthetic model's tables.
std::string split_rows(const WeightTensor& table, std::string& scales) {
  std::string codes;
  for (uint64_t at = 0; at < table.bytes; at += 33) {
    const auto* block = reinterpret_cast<const char*>(table.data + at);
    scales += block[0];
    codes.append(block + 1, 32);
  }
  return codes;
}

TEST_CASE("a model with extracted tables is the model with its own") {
  const TempDir dir;
  SyntheticOptions synth = options_for("mini-xs2");
  synth.engram_format = Format::kMXFP8;
  const auto own = open(write(dir, synth, "own.gguf"));
  std::vector<FixtureTensor> tensors;
  for (const int layer : own->config().engram_layers) {
    const WeightTensor& table = own->target(Role::kEngramEmbed, layer);
    std::string scales;
    const std::string codes = split_rows(table, scales);
    const std::string name = "layers." + std::to_string(layer) + ".engram.embed.";
    const std::string rows = "[" + std::to_string(table.ne[1]) + ", ";
    tensors.push_back({name + "weight", "F8_E4M3", rows + "32]", codes});
    tensors.push_back({name + "scale", "F8_E8M0", rows + "1]", scales});
  }
  dir.write("tables.safetensors", safetensors_bytes(tensors));
  for (const Family family : {Family::kOurs, Family::kB}) {
    synth.engram_tables = false;
    synth.family = family;
    const std::string path = write(dir, synth, "bare.gguf");
    CHECK(failure(path).find("tensor blk.2.engram_emb") != std::string::npos);
    ExtractOptions options;
    options.from = {dir / "tables.safetensors"};
    options.out = engram_table_path(path);
    REQUIRE(extract_engram(options).ok());
    const auto source = open(path);
    CHECK(source->totals().engram == own->totals().engram);
    CHECK(source->files()[1] == dir / "bare.engram.gguf");
    CHECK(same_bits(file_logits(*source), file_logits(*own)));
    CHECK(source->fingerprint() != own->fingerprint());
    // Named, it goes before tables of the model's own.
    WeightSourceOptions named;
    named.engram_path = options.out;
    CHECK(open(dir / "own.gguf", named)->files().size() == 3);
    named.engram_path = dir / "own.gguf";
    CHECK(failure(path, named) == (dir / "own.gguf") +
                                      ": key general.architecture: is \"deepseek41\", expected "
                                      "\"deepseek41-engram\"");
    std::filesystem::remove(options.out);
  }
}

}  // namespace
}  // namespace rota
