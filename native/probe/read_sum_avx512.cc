// The AVX-512 kernel. Entered only after the CPU was asked.
#include <immintrin.h>

#include "probe/read_sum.h"

namespace rota {

uint64_t read_sum_ahead_avx512(const uint64_t* data, size_t words) {
  __m512i sums[8];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  const auto* in = reinterpret_cast<const __m512i*>(data);
  for (size_t i = 0; i < words / 8; i += 8) {
    const char* ahead = reinterpret_cast<const char*>(in + i) + kReadAhead;
    for (size_t lane = 0; lane < 8; ++lane) {
      _mm_prefetch(ahead + 64 * lane, _MM_HINT_T0);
      sums[lane] = _mm512_add_epi64(sums[lane], _mm512_load_si512(in + i + lane));
    }
  }
  for (size_t lane = 1; lane < 8; ++lane) sums[0] = _mm512_add_epi64(sums[0], sums[lane]);
  alignas(64) uint64_t parts[8];  // GCC's reduction adds signed words, which must not wrap
  _mm512_store_si512(parts, sums[0]);
  uint64_t total = 0;
  for (const uint64_t part : parts) total += part;
  return total;
}

}  // namespace rota
