// The AVX2 kernels. Entered only after the CPU was asked.
#include <immintrin.h>

#include "probe/read_sum.h"

namespace rota {
namespace {

template <bool kAhead>
uint64_t read_sum(const uint64_t* data, size_t words) {
  __m256i sums[8];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  const auto* in = reinterpret_cast<const __m256i*>(data);
  for (size_t i = 0; i < words / 4; i += 8) {
    if constexpr (kAhead) {
      const char* ahead = reinterpret_cast<const char*>(in + i) + kReadAhead;
      for (int line = 0; line < 4; ++line) _mm_prefetch(ahead + 64 * line, _MM_HINT_T0);
    }
    for (size_t lane = 0; lane < 8; ++lane) {
      sums[lane] = _mm256_add_epi64(sums[lane], _mm256_load_si256(in + i + lane));
    }
  }
  for (size_t lane = 1; lane < 8; ++lane) sums[0] = _mm256_add_epi64(sums[0], sums[lane]);
  alignas(32) uint64_t parts[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(parts), sums[0]);
  return parts[0] + parts[1] + parts[2] + parts[3];
}

}  // namespace

uint64_t read_sum_avx2(const uint64_t* data, size_t words) { return read_sum<false>(data, words); }

uint64_t read_sum_ahead_avx2(const uint64_t* data, size_t words) {
  return read_sum<true>(data, words);
}

}  // namespace rota
