// A checkpoint as a GGUF: every tensor's values, to the bit, behind the reader that engines use.
#include "model/checkpoint_convert.h"

#include <doctest/doctest.h>

#include <cstring>

#include "model/checkpoint_fixture.h"
#include "model/weight_fixture.h"

namespace rota {
namespace {

ConvertOptions to(const std::string& out) {
  ConvertOptions options;
  options.out = out;
  return options;
}

std::unique_ptr<Checkpoint> opened(const TempDir& dir) {
  auto checkpoint = Checkpoint::open(dir / "");
  REQUIRE_MESSAGE(checkpoint.ok(), checkpoint.status().message());
  return std::move(checkpoint).value();
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<float> decoded(const WeightTensor& tensor) {
  std::vector<float> out(tensor.ne[0] * tensor.ne[1]);
  for (uint64_t row = 0; row < tensor.ne[1]; ++row) {
    decode_row(tensor.format, tensor.row(row), &out[row * tensor.ne[0]], tensor.ne[0]);
  }
  return out;
}

std::vector<float> decoded(const WeightSource& source, const ExpertBlob& blob, ExpertPart part,
                           size_t weights) {
  std::vector<float> out(weights);
  const auto p = static_cast<size_t>(part);
  REQUIRE(blob.spans.size() == 1);
  decode_row(blob.format[p], source.mapped(blob.spans[0]) + blob.part_offset[p], out.data(),
             out.size());
  return out;
}

void check_same(const CheckpointFixture& fixture, const WeightSource& source) {
  for (const auto& [place, name] : fixture.names) {
    const auto& [draft, layer, role] = place;
    CAPTURE(name);
    const WeightTensor& tensor = draft ? source.draft(role, layer) : source.target(role, layer);
    CHECK(same_bits(decoded(tensor), fixture.decoded(name)));
  }
  const Config& c = source.config();
  const auto weights = static_cast<size_t>(c.dim) * static_cast<size_t>(c.moe_inter);
  constexpr std::pair<ExpertPart, const char*> kParts[] = {
      {ExpertPart::kGate, ".w1"}, {ExpertPart::kUp, ".w3"}, {ExpertPart::kDown, ".w2"}};
  for (const bool draft : {false, true}) {
    for (int layer = 0; layer < (draft ? c.draft_stages : c.layers); ++layer) {
      for (int expert = 0; expert < (draft ? c.draft_experts : c.experts); ++expert) {
        const ExpertBlob& blob =
            draft ? source.draft_expert(layer, expert) : source.expert(layer, expert);
        for (const auto& [part, suffix] : kParts) {
          const std::string name = (draft ? "mtp." : "layers.") + std::to_string(layer) +
                                   ".ffn.experts." + std::to_string(expert) + suffix;
          CAPTURE(name);
          CHECK(same_bits(decoded(source, blob, part, weights), fixture.decoded(name)));
        }
      }
    }
  }
}

TEST_CASE("every tensor of the GGUF has the checkpoint's values, bit for bit") {
  const TempDir dir, out;
  const CheckpointFixture fixture = checkpoint_fixture();
  fixture.write(dir);
  const auto checkpoint = opened(dir);
  // Runs of one row and of several, and runs that begin within a tile.
  for (const uint64_t at_once : {uint64_t{1}, uint64_t{700}, uint64_t{1} << 20}) {
    CAPTURE(at_once);
    ConvertOptions options = to(out / ("m" + std::to_string(at_once) + ".gguf"));
    options.weights_at_once = at_once;
    uint64_t announced = 0, last = 0, whole = 0;
    options.before_write = [&](uint64_t bytes) { return announced = bytes, Status(); };
    options.progress = [&](uint64_t done, uint64_t total) { last = done, whole = total; };
    auto files = convert_checkpoint(*checkpoint, options);
    REQUIRE_MESSAGE(files.ok(), files.status().message());
    CHECK(files->sidecar == sidecar_path(options.out));
    CHECK(announced ==
          std::filesystem::file_size(files->model) + std::filesystem::file_size(files->sidecar));
    CHECK(files->bytes == announced);
    CHECK(last == whole);
    const auto source = open(files->model);
    CHECK(source->family() == Family::kOurs);
    check_same(fixture, *source);
  }
}

TEST_CASE("formats are the released ones: nothing grows, nothing is rounded") {
  const TempDir dir, out;
  checkpoint_fixture().write(dir);
  const auto checkpoint = opened(dir);
  REQUIRE(convert_checkpoint(*checkpoint, to(out / "m.gguf")).ok());
  const auto source = open(out / "m.gguf");
  CHECK(source->target(Role::kAttnQB, 3).format == Format::kMXFP8);
  CHECK(source->target(Role::kEngramEmbed, 2).format == Format::kMXFP8);
  CHECK(source->target(Role::kTokenEmbd).format == Format::kBF16);
  CHECK(source->target(Role::kHcFfnFn, 0).format == Format::kF32);
  CHECK(source->expert(9, 6).format[2] == Format::kMXFP4);
  const Config &a = checkpoint->config(), &b = source->config();
  CHECK(b.engram_primes == a.engram_primes);
  CHECK(b.engram_token_map == a.engram_token_map);
  CHECK(b.engram_pad_id == a.engram_pad_id);
  CHECK(b.ratios == a.ratios);
  CHECK(b.image_id == 5);
  CHECK(b.rms_eps == a.rms_eps);
  CHECK(b.draft_targets == a.draft_targets);
}

TEST_CASE("without its tables, a GGUF takes those of extract-engram") {
  const TempDir dir, out;
  checkpoint_fixture().write(dir);
  const auto checkpoint = opened(dir);
  ConvertOptions options = to(out / "m.gguf");
  options.formats.engram_tables = false;
  REQUIRE(convert_checkpoint(*checkpoint, options).ok());
  CHECK(failure(out / "m.gguf") == out / "m.gguf" + ": tensor blk.2.engram_embed.weight: missing");
}

TEST_CASE("other formats are rounded to, and each expert may have its own") {
  const TempDir dir, out;
  const CheckpointFixture fixture = checkpoint_fixture();
  fixture.write(dir);
  const auto checkpoint = opened(dir);
  ConvertOptions options = to(out / "m.gguf");
  options.formats.dense = [](const CheckpointMatrix&) { return Format::kF32; };
  options.formats.expert = [](bool, int, int expert) {
    return expert % 2 == 0 ? Format::kF32 : Format::kBF16;
  };
  REQUIRE(convert_checkpoint(*checkpoint, options).ok());
  const auto source = open(out / "m.gguf");
  CHECK(source->expert(0, 4).format[0] == Format::kF32);
  CHECK(source->expert(0, 5).format[0] == Format::kBF16);
  check_same(fixture, *source);  // both hold fp4 and fp8 exactly
  options.out = out / "q.gguf";
  options.formats.expert = [](bool, int, int) { return Format::kQ3_K; };
  CHECK(convert_checkpoint(*checkpoint, options).status().message() ==
        "tensor layers.0.ffn.experts.0.w1: Q3_K needs rows of a multiple of 256 weights, not 96");
  CHECK_FALSE(std::filesystem::exists(out / "q.gguf"));
}

TEST_CASE("a conversion that is stopped leaves nothing, and one that was killed takes no room") {
  const TempDir dir, out;
  checkpoint_fixture().write(dir);
  const auto checkpoint = opened(dir);
  ConvertOptions options = to(out / "m.gguf");
  uint64_t wrote = 0;
  options.progress = [&](uint64_t done, uint64_t) { wrote = done; };
  options.stopped = [&] { return wrote > 500'000; };
  CHECK(convert_checkpoint(*checkpoint, options).status().code() == Code::kCancelled);
  CHECK(wrote > 500'000);
  CHECK(std::filesystem::is_empty(out / ""));
  out.write("m.gguf.tmp", "half");
  out.write("m.dspark.gguf.tmp", "half");
  options.before_write = [&](uint64_t) {
    CHECK(std::filesystem::is_empty(out / ""));
    return Status(Code::kIo, "no room");
  };
  CHECK(convert_checkpoint(*checkpoint, options).status().code() == Code::kIo);
}

TEST_CASE("files appear whole or not at all, and none is written over") {
  const TempDir dir, out;
  CheckpointFixture fixture = checkpoint_fixture();
  fixture.tensors["mtp.1.ffn.experts.4.w2.scale"].data[3] = '\xff';
  fixture.write(dir);
  const auto checkpoint = opened(dir);
  const std::string model = out / "m.gguf";
  CHECK(convert_checkpoint(*checkpoint, to(model)).status().code() == Code::kLoad);
  CHECK(std::filesystem::is_empty(out / ""));
  ConvertOptions stopped = to(model);
  stopped.before_write = [](uint64_t) { return Status(Code::kIo, "no room"); };
  CHECK(convert_checkpoint(*checkpoint, stopped).status().message() == "no room");
  CHECK(std::filesystem::is_empty(out / ""));
  out.write("m.dspark.gguf", "mine");
  CHECK(convert_checkpoint(*checkpoint, to(model)).status().message() ==
        out / "m.dspark.gguf" + " exists; remove it or name another");
  CHECK(convert_checkpoint(*checkpoint, to(out / "m.bin")).status().code() == Code::kUsage);
  CHECK(read_file(out / "m.dspark.gguf") == "mine");
}

}  // namespace
}  // namespace rota
