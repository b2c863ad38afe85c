// A model in raw parts of awkward sizes is the model: fingerprint, every tensor, every expert, and
// the logits; also as shards in parts.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/temp_dir.h"
#include "model/file_logits.h"
#include "model/sequence_fixture.h"
#include "model/weight_fixture.h"

namespace rota {
namespace {

// Replaces the file by parts of `each` bytes.
void cut(const std::string& path, size_t each) {
  const std::string bytes = read_file(path);
  char suffix[16];
  for (size_t i = 0; i * each < bytes.size(); ++i) {
    std::snprintf(suffix, sizeof(suffix), ".part-%02zu", i);
    std::ofstream(path + suffix, std::ios::binary) << bytes.substr(i * each, each);
  }
  std::filesystem::remove(path);
}

std::string blob_bytes(const WeightSource& source, const ExpertBlob& blob) {
  std::string out;
  for (const FileSpan& span : blob.spans) {
    out.append(reinterpret_cast<const char*>(source.mapped(span)), span.bytes);
  }
  return out;
}

struct Seen {
  std::string fingerprint;
  std::vector<float> logits;
  std::vector<std::string> experts;
  uint64_t bytes = 0;
};

Seen look(const std::string& path) {
  const auto source = open(path);
  Seen seen;
  seen.fingerprint = source->fingerprint();
  seen.logits = file_logits(*source);
  const Config& c = source->config();
  for (int l = 0; l < c.layers; ++l) {
    for (int e = 0; e < c.experts; ++e) {
      seen.experts.push_back(blob_bytes(*source, source->expert(l, e)));
    }
  }
  for (size_t i = 0; i < source->files().size(); ++i) {
    seen.bytes += source->file_bytes(static_cast<int>(i));
  }
  return seen;
}

TEST_CASE("a model in raw parts is the joined one, wherever the cuts fall") {
  for (const int shards : {1, 2}) {
    const TempDir dir;
    const std::string path = write(dir, options_for("mini-xs", shards == 1, shards));
    const Seen whole = look(path);
    const size_t size = std::filesystem::file_size(path);
    for (const size_t each : {size / 2 + 1, size / 7 + 3, size_t{70001}}) {
      CAPTURE(each);
      const TempDir parts;
      std::filesystem::copy(dir / "", parts / "");
      const std::string first = parts / std::filesystem::path(path).filename().string();
      cut(first, each);
      cut(parts / "m.dspark.gguf", 65537);
      const Seen cut_up = look(first);
      CHECK(cut_up.fingerprint == whole.fingerprint);
      CHECK(same_bits(cut_up.logits, whole.logits));
      CHECK(cut_up.experts == whole.experts);
      CHECK(cut_up.bytes == whole.bytes);
      // Any part names the whole, and the sidecar is still found.
      CHECK(open(first + ".part-01")->has_draft());
    }
  }
}

TEST_CASE("rows of a table in several parts are each in one piece") {
  const TempDir dir;
  const std::string path = write(dir, options_for("mini-xs"));
  const auto whole = open(path);
  const std::string bytes = read_file(path);
  const TempDir parts;
  const std::string copy = parts.write("m.gguf", bytes);
  const uint64_t begin = whole->target(Role::kEngramEmbed, 1).offset;
  cut(copy, static_cast<size_t>(begin + 1000) / 2);  // in the middle of row 7
  const auto source = open(copy);
  for (const int layer : {1, 4}) {
    const WeightTensor& expected = whole->target(Role::kEngramEmbed, layer);
    const WeightTensor& table = source->target(Role::kEngramEmbed, layer);
    for (uint64_t row = 0; row < table.ne[1]; ++row) {
      REQUIRE(std::memcmp(table.row(row), expected.row(row), table.row_bytes) == 0);
    }
  }
  CHECK(source->target(Role::kEngramEmbed, 1).stretches.size() == 3);
}

}  // namespace
}  // namespace rota
