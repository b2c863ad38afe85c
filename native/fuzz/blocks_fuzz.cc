// Fuzz target: the bytes of quantised weights. Any bits of any format decode, each block by itself:
// together they are what each gives alone.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "formats/block.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const auto formats = rota::all_formats();
  const rota::FormatInfo& info = formats[data[0] % formats.size()];
  if (!rota::is_weight_format(info.format)) return 0;
  const size_t blocks = (size - 1) / info.block_bytes;
  if (blocks == 0) return 0;  // no tensor has a row without weights
  // Of the very length, so that a read past the last block shows.
  const std::vector<uint8_t> bytes(data + 1, data + 1 + blocks * info.block_bytes);
  std::vector<float> row(blocks * info.block_weights), one(info.block_weights);
  rota::decode_row(info.format, bytes.data(), row.data(), row.size());
  for (size_t i = 0; i < blocks; ++i) {
    rota::decode_row(info.format, bytes.data() + i * info.block_bytes, one.data(), one.size());
    const float* const there = row.data() + i * info.block_weights;
    ROTA_CHECK(std::memcmp(there, one.data(), one.size() * sizeof(float)) == 0, info.name, i);
  }
  return 0;
}
