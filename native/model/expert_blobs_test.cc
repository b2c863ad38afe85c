// Routed experts: each one's bytes where the rule puts them, in every layout; maps that point
// nowhere are named.
#include "model/expert_blobs.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/temp_dir.h"
#include "formats/gguf.h"
#include "model/synthetic.h"
#include "model/weight_fixture.h"

namespace rota {
namespace {

// The concatenated blob, read through its spans.
std::vector<uint8_t> blob_bytes(const WeightSource& source, const ExpertBlob& blob) {
  std::vector<uint8_t> bytes;
  for (const FileSpan& span : blob.spans) {
    const uint8_t* data = source.mapped(span);
    bytes.insert(bytes.end(), data, data + span.bytes);
  }
  CHECK(bytes.size() == blob.bytes);
  return bytes;
}

// Part `part` of an expert as the rule says, encoded in its format.
std::vector<uint8_t> expected_part(const Config& c, bool draft, int layer, int expert,
                                   ExpertPart part, Format format) {
  const size_t count = static_cast<size_t>(c.dim) * static_cast<size_t>(c.moe_inter);
  const auto length = static_cast<uint64_t>(part == ExpertPart::kDown ? c.moe_inter : c.dim);
  const std::string name = expert_tensor_name(layer, part);
  std::vector<float> floats(count);
  SyntheticValues(draft ? sidecar_key(name) : name, 1, expert_spread(length))
      .fill(static_cast<uint64_t>(expert) * count, floats.data(), count);
  std::vector<uint8_t> bytes(row_bytes(format, count).value());
  encode_row(format, floats.data(), bytes.data(), count);
  return bytes;
}

int wrong_parts(const WeightSource& source, bool draft, int layer, int expert) {
  const ExpertBlob& blob =
      draft ? source.draft_expert(layer, expert) : source.expert(layer, expert);
  const auto bytes = blob_bytes(source, blob);
  int wrong = 0;
  for (size_t p = 0; p < 3; ++p) {
    const auto expected = expected_part(source.config(), draft, layer, expert,
                                        static_cast<ExpertPart>(p), blob.format[p]);
    wrong += expected.size() != blob.part_bytes[p] ||
             std::memcmp(expected.data(), bytes.data() + blob.part_offset[p], expected.size()) != 0;
  }
  return wrong;
}

TEST_CASE("experts are the rule's in both layouts and in shards") {
  for (const bool blob_layout : {true, false}) {
    for (const int shards : {1, 3}) {
      const TempDir dir;
      const auto source = open(write(dir, options_for("mini-xs2", blob_layout, shards)));
      const Config& c = source->config();
      CHECK(source->files().size() == static_cast<size_t>(shards) + 1);
      int wrong = 0;
      for (int layer = 0; layer < c.layers; ++layer) {
        for (int e = 0; e < c.experts; ++e) wrong += wrong_parts(*source, false, layer, e);
      }
      for (int stage = 0; stage < c.draft_stages; ++stage) {
        for (int e = 0; e < c.draft_experts; ++e) wrong += wrong_parts(*source, true, stage, e);
      }
      CHECK(wrong == 0);
      CHECK(source->expert(0, 0).spans.size() == (blob_layout ? 1 : 3));
    }
  }
}

TEST_CASE("mixed formats: each expert in its own, sizes of the formats") {
  const TempDir dir;
  const auto source = open(write(dir, options_for("mini-s")));
  int wrong = 0;
  uint64_t total = 0;
  for (int layer = 0; layer < 8; ++layer) {
    for (int e = 0; e < 32; ++e) {
      const ExpertBlob& blob = source->expert(layer, e);
      wrong += blob.format[0] != mixed_format(1, false, layer, e);
      wrong += blob.bytes != row_bytes(blob.format[0], 3 * 256 * 256).value();
      total += blob.bytes;
      if (e == 0) wrong += wrong_parts(*source, false, layer, e);
    }
  }
  CHECK(wrong == 0);
  CHECK(source->totals().experts == total);
  CHECK(source->target(Role::kAttnQA, 3).format == Format::kQ8_0);
  CHECK(source->target(Role::kAttnNorm, 3).format == Format::kF32);
}

TEST_CASE("an expert map that points nowhere is named") {
  const TempDir dir;
  const std::string path = write(dir, options_for("mini-xs"));
  const auto opened = Gguf::open(path);
  REQUIRE(opened.ok());
  const uint64_t map = opened.value().tensor(expert_map_name(2))->offset;
  const auto tell = [&](size_t at, int32_t value) {
    std::string file = read_file(path);
    std::memcpy(file.data() + map + at, &value, 4);
    const std::string bad = dir.write("bad.gguf", file);
    return failure(bad).substr(bad.size() + 2);
  };
  CHECK(
      tell(4, 8) ==
      "tensor blk.2.ffn_exps_map: points to blob 8 of blk.2.ffn_exps_blob.F32.weight, which has 8");
  CHECK(tell(4, -1).find("points to blob -1") != std::string::npos);
  CHECK(tell(0, 12) == "tensor blk.2.ffn_exps_map: names format 12 (Q4_K), which is not supported");
  CHECK(tell(0, 26).find("names format 26 (I32), which is not supported") != std::string::npos);
  CHECK(tell(0, 8) ==
        "tensor blk.2.ffn_exps_blob.Q8_0.weight: missing, but blk.2.ffn_exps_map points into it");
}

}  // namespace
}  // namespace rota
