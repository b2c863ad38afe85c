// Fuzz target: a whole model as the engine opens it: container, config, every dense tensor, every
// expert's span. The input is the head of the file; zeros follow it, so that tensors have room
// without an input of megabytes.
#include <cstddef>
#include <cstdint>

#include "experts/blob.h"
#include "fuzz/memory_file.h"
#include "model/weight_source.h"

namespace {

constexpr size_t kFileBytes = size_t{8} << 20;

// What FileBlobs does with each expert before it is served.
void lay_out(const rota::WeightSource& weights) {
  const rota::Config& c = weights.config();
  for (int layer = 0; layer < c.layers; ++layer) {
    for (int e = 0; e < c.experts; ++e) {
      const rota::ExpertBlob& blob = weights.expert(layer, e);
      for (const rota::FileSpan& span : blob.spans) (void)weights.mapped(span);
      const auto layout =
          rota::blob_layout(blob.format[0], blob.format[1], blob.format[2], c.dim, c.moe_inter);
      ROTA_CHECK(layout.ok() && layout.value().bytes == blob.bytes, "layer", layer, "expert", e);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static rota::MemoryFile file(kFileBytes);
  file.set(data, size, kFileBytes);
  rota::WeightSourceOptions options;
  options.want_draft = false;
  const auto weights = rota::WeightSource::open(file.path(), options);
  if (weights.ok()) lay_out(*weights.value());
  return 0;
}
