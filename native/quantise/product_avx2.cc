// The AVX2 tile: twelve registers of sums, multiply and add fused.
#include <immintrin.h>

#include "quantise/product.h"

namespace rota::product_internal {
namespace {

template <size_t kRows>
void tile_of(size_t k, Strided a, const float* panel, float* out) {
  __m256 sums[kRows][2];
  for (size_t r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = _mm256_setzero_ps();
  for (size_t i = 0; i < k; ++i) {
    const __m256 low = _mm256_loadu_ps(panel + i * kPanel),
                 high = _mm256_loadu_ps(panel + i * kPanel + 8);
#pragma GCC unroll 6
    for (size_t r = 0; r < kRows; ++r) {
      const __m256 factor = _mm256_broadcast_ss(a.data + r * a.row + i * a.column);
      sums[r][0] = _mm256_fmadd_ps(factor, low, sums[r][0]);
      sums[r][1] = _mm256_fmadd_ps(factor, high, sums[r][1]);
    }
  }
#pragma GCC unroll 6
  for (size_t r = 0; r < kRows; ++r) {
    _mm256_storeu_ps(out + r * kPanel, sums[r][0]);
    _mm256_storeu_ps(out + r * kPanel + 8, sums[r][1]);
  }
}

}  // namespace

void avx2_tile(size_t rows, size_t k, Strided a, const float* panel, float* out) {
  switch (rows) {
    case 6:
      return tile_of<6>(k, a, panel, out);
    case 5:
      return tile_of<5>(k, a, panel, out);
    case 4:
      return tile_of<4>(k, a, panel, out);
    case 3:
      return tile_of<3>(k, a, panel, out);
    case 2:
      return tile_of<2>(k, a, panel, out);
    default:
      return tile_of<1>(k, a, panel, out);
  }
}

}  // namespace rota::product_internal
