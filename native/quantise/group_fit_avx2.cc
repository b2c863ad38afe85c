// The AVX2 variant: eight lanes in a register, nothing fused.
#include <immintrin.h>

#include "quantise/group_fit.h"

namespace rota::group_fit_internal {
namespace {

float tree(__m256 lanes) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

}  // namespace

GroupFit avx2(const WeightGroup& g, float step) {
  const __m256 steps = _mm256_set1_ps(step), inverse = _mm256_set1_ps(step == 0 ? 0 : 1 / step),
               low = _mm256_set1_ps(g.low), high = _mm256_set1_ps(g.high);
  __m256 error = _mm256_setzero_ps(), wq = error, qq = error;
  for (size_t i = 0; i < g.n; i += 8) {
    const __m256 w = _mm256_loadu_ps(g.w + i), h = _mm256_loadu_ps(g.importance + i);
    const __m256 within = _mm256_min_ps(_mm256_max_ps(_mm256_mul_ps(w, inverse), low), high);
    const __m256 q = _mm256_round_ps(within, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256 off = _mm256_sub_ps(w, _mm256_mul_ps(steps, q)), hq = _mm256_mul_ps(h, q);
    error = _mm256_add_ps(error, _mm256_mul_ps(_mm256_mul_ps(h, off), off));
    wq = _mm256_add_ps(wq, _mm256_mul_ps(hq, w));
    qq = _mm256_add_ps(qq, _mm256_mul_ps(hq, q));
  }
  return {tree(error), tree(wq), tree(qq)};
}

}  // namespace rota::group_fit_internal
