// The AVX2 variant of the vector operations: the same lanes, with multiply and add fused.
#include <immintrin.h>

#include <cmath>

#include "device/host/vector_ops.h"

namespace rota {
namespace {

float dot(const float* x, const float* y, size_t n) {
  __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                    _mm256_setzero_ps()};
  const size_t whole = n / kDotLanes * kDotLanes;
  for (size_t i = 0; i < whole; i += kDotLanes) {
#pragma GCC unroll 4
    for (size_t c = 0; c < 4; ++c) {
      sums[c] =
          _mm256_fmadd_ps(_mm256_loadu_ps(x + i + 8 * c), _mm256_loadu_ps(y + i + 8 * c), sums[c]);
    }
  }
  float lanes[kDotLanes];
  for (size_t c = 0; c < 4; ++c) _mm256_storeu_ps(lanes + 8 * c, sums[c]);
  for (size_t i = whole; i < n; ++i) lanes[i - whole] = std::fma(x[i], y[i], lanes[i - whole]);
  return reduce_dot_lanes(lanes);
}

void axpy(float a, const float* x, float* y, size_t n) {
  const __m256 factor = _mm256_set1_ps(a);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i,
                     _mm256_fmadd_ps(factor, _mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i)));
  }
  for (; i < n; ++i) y[i] = std::fma(a, x[i], y[i]);
}

}  // namespace

const VectorOps kAvx2VectorOps = {dot, axpy};

}  // namespace rota
