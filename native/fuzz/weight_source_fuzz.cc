// Fuzz target: a whole model as the engine opens it: container, config, every dense tensor, every
// expert's span. The input is the head of the file; zeros follow it, so that tensors have room
// without an input of their length. Three of four inputs are a head with one number changed: what
// the container's bytes may do has targets of its own.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "experts/blob.h"
#include "formats/input_gguf.h"
#include "fuzz/gguf_mutator.h"
#include "model/weight_source.h"

namespace {

// The largest tensor of the seeds has 240 KiB.
constexpr size_t kFileBytes = size_t{512} << 10;

// The head, then zeros; each call overwrites what the one before has written.
std::span<const uint8_t> file_of(const uint8_t* head, size_t size) {
  static std::vector<uint8_t> file(kFileBytes);
  static size_t written = 0;
  size = std::min(size, file.size());
  std::copy_n(head, size, file.begin());
  if (written > size) std::fill(file.data() + size, file.data() + written, uint8_t{0});
  written = size;
  return file;
}

// What FileBlobs does with each expert before it is served.
void lay_out(const rota::WeightSource& weights) {
  const rota::Config& c = weights.config();
  for (int layer = 0; layer < c.layers; ++layer) {
    for (int e = 0; e < c.experts; ++e) {
      const rota::ExpertBlob& blob = weights.expert(layer, e);
      uint64_t bytes = 0;
      for (const rota::FileSpan& span : blob.spans) {
        (void)weights.mapped(span);  // checks that it lies in the file
        bytes += span.bytes;
      }
      ROTA_CHECK(bytes == blob.bytes, "layer", layer, "expert", e);
      const auto layout =
          rota::blob_layout(blob.format[0], blob.format[1], blob.format[2], c.dim, c.moe_inter);
      ROTA_CHECK(layout.ok() && layout.value().bytes == blob.bytes, "layer", layer, "expert", e);
    }
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  std::minstd_rand random(seed);
  rota::GgufNumbers numbers({data, size});
  if (random() % 4 == 0 || numbers.empty()) return LLVMFuzzerMutate(data, size, max_size);
  numbers.change(random);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto gguf = rota::input_gguf(file_of(data, size));
  if (!gguf.ok()) return 0;
  rota::WeightSourceOptions options;
  options.want_draft = false;
  const auto weights = rota::WeightSource::of(std::move(gguf).value(), "input", options);
  if (weights.ok()) lay_out(*weights.value());
  return 0;
}
