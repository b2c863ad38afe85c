// The scalar reference of the matrix kernel: decode a stretch of a weight row exactly, then 8 lanes
// a row of activations.
#include <algorithm>

#include "device/host/matvec_kernels.h"

namespace rota {
namespace {

constexpr size_t kStretch = 256;  // a multiple of every format's block

// Lanes of one (output, row): continues over stretches, so that the order is that of the whole row.
void accumulate(const float* w, const float* x, size_t n, float* lanes) {
  const size_t whole = n / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) lanes[l] += w[i + l] * x[i + l];
  }
  for (size_t i = whole; i < n; ++i) lanes[i - whole] += w[i] * x[i];
}

}  // namespace

void matvec_portable(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                     const float* const* x, int rows, float* const* y) {
  const FormatInfo& info = format_info(f);
  const size_t stretch_bytes = kStretch / info.block_weights * info.block_bytes;
  const size_t bytes = k / info.block_weights * info.block_bytes;
  float weights[kStretch];
  for (size_t o = out_begin; o < out_end; ++o) {
    for (int first = 0; first < rows; first += kRowTile) {
      const int count = std::min(kRowTile, rows - first);
      float lanes[kRowTile][kLanes] = {};
      const uint8_t* in = static_cast<const uint8_t*>(w) + o * bytes;
      for (size_t i = 0; i < k; i += kStretch, in += stretch_bytes) {
        const size_t n = std::min(kStretch, k - i);
        decode_row(f, in, weights, n);
        for (int r = 0; r < count; ++r) accumulate(weights, x[first + r] + i, n, lanes[r]);
      }
      for (int r = 0; r < count; ++r) y[first + r][o] = reduce_lanes(lanes[r]);
    }
  }
}

}  // namespace rota
