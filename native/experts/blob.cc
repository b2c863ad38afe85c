// Layout arithmetic of expert blobs.
#include "experts/blob.h"

#include <algorithm>

namespace rota {

Result<BlobLayout> blob_layout(Format gate, Format up, Format down, int dim, int moe_inter) {
  const auto inter = static_cast<uint64_t>(moe_inter);
  const auto width = static_cast<uint64_t>(dim);
  ROTA_ASSIGN_OR_RETURN(const size_t gate_row, row_bytes(gate, width));
  ROTA_ASSIGN_OR_RETURN(const size_t up_row, row_bytes(up, width));
  ROTA_ASSIGN_OR_RETURN(const size_t down_row, row_bytes(down, inter));
  BlobLayout layout;
  layout.gate = gate;
  layout.up = up;
  layout.down = down;
  layout.up_offset = gate_row * inter;
  layout.down_offset = layout.up_offset + up_row * inter;
  layout.bytes = layout.down_offset + down_row * width;
  layout.tally_class = blob_class(gate, up, down);
  return layout;
}

uint64_t largest_blob(const BlobSource& source) {
  uint64_t largest = 0;
  for (int l = 0; l < source.layers(); ++l) {
    for (int e = 0; e < source.experts(); ++e) {
      largest = std::max(largest, source.layout(l, e).bytes);
    }
  }
  return (largest + 63) / 64 * 64;
}

}  // namespace rota
