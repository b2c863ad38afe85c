// What an expert's bytes are: three matrices in a row, each in its own format. Owns the layout
// arithmetic and the interface by which bytes are read; knows neither where a blob lives nor how it
// is computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "experts/counters.h"
#include "formats/block.h"

namespace rota {

// gate [moe_inter, dim] | up [moe_inter, dim] | down [dim, moe_inter], contiguous.
struct BlobLayout {
  Format gate = Format::kF32, up = Format::kF32, down = Format::kF32;
  uint64_t up_offset = 0, down_offset = 0, bytes = 0;
  size_t tally_class = 0;
};

Result<BlobLayout> blob_layout(Format gate, Format up, Format down, int dim, int moe_inter);

// All experts of one model half (target layers or draft stages). Thread-safe: readers call read()
// at once.
class BlobSource {
 public:
  virtual ~BlobSource() = default;
  virtual int layers() const = 0;
  virtual int experts() const = 0;
  virtual const BlobLayout& layout(int layer, int expert) const = 0;
  // Called by a thread before its first read(), which then allocates nothing. kOutOfMemory.
  virtual Status prepare_thread() const { return Status(); }
  // dst[bytes] = blob[offset, offset + bytes).
  virtual Status read(int layer, int expert, uint64_t offset, uint64_t bytes,
                      uint8_t* dst) const = 0;
  // Where the blob lies in memory by itself and is never written; nullptr: it has to be read.
  virtual const uint8_t* in_place(int layer, int expert) const {
    static_cast<void>(layer), static_cast<void>(expert);
    return nullptr;
  }
  // The stretches of memory that these are in, each from the start of a page.
  virtual std::vector<std::span<const uint8_t>> in_place_memory() const { return {}; }
};

// Bytes of the largest blob, up to whole cache lines: what a place for any of them needs.
uint64_t largest_blob(const BlobSource& source);

}  // namespace rota
