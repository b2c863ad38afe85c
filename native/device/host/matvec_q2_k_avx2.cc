// Q2_K for the AVX2 variant: two-bit codes, steps and offsets of 16 weights multiplied in integers.
// Bit layout: native/formats/README.md.
#include "device/host/matvec_int_avx2.h"

namespace rota {
namespace {

struct Q2_K {
  static constexpr size_t kBytes = 84;
  static constexpr int kStreams = 1, kOutputs = 1;
  using Chunk = StepsChunk;
  struct Lanes {
    __m128 first;  // lane 0 alone
  };
  static inline float reduce(const Lanes& acc) { return _mm_cvtss_f32(acc.first); }
  struct Weights {
    __m256i code[8], scale[8];  // of 32 weights; their two steps, eight words each
    __m256i offsets;            // of sub-blocks, even ones in the lower half
    __m128 d, dmin;
  };

  static inline void decode(const uint8_t* p, Weights& w) {
    const __m128i even_first = _mm_shuffle_epi8(
        load16(p), _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
    const __m128i low_bits = _mm_set1_epi8(15);
    const __m256i steps = _mm256_cvtepu8_epi16(_mm_and_si128(even_first, low_bits));
    w.offsets = _mm256_cvtepu8_epi16(_mm_and_si128(_mm_srli_epi16(even_first, 4), low_bits));
    w.d = _mm_cvtph_ps(spread_half(p + 80));
    w.dmin = _mm_cvtph_ps(spread_half(p + 82));
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) {
      w.code[g] = _mm256_and_si256(_mm256_srli_epi16(load32(p + 16 + 32 * (g / 4)), 2 * (g % 4)),
                                   _mm256_set1_epi8(3));
      w.scale[g] = _mm256_shuffle_epi8(
          steps, _mm256_set1_epi16(static_cast<int16_t>(2 * g + 256 * (2 * g + 1))));
    }
  }
  // Products of a code and a byte: 2 * 3 * 128 in 16 bits; times 256 steps of 15, so that hi and lo
  // meet in one sum.
  static inline void apply(const Weights& w, const Chunk& x, Lanes& acc) {
    __m256i sums = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) {
      const __m256i hi = _mm256_maddubs_epi16(w.code[g], load32(x.hi + steps_place(g)));
      const __m256i lo = _mm256_maddubs_epi16(w.code[g], load32(x.lo + steps_place(g)));
      sums = _mm256_add_epi32(
          sums, _mm256_add_epi32(_mm256_madd_epi16(hi, _mm256_slli_epi16(w.scale[g], 8)),
                                 _mm256_madd_epi16(lo, w.scale[g])));
    }
    const __m256i less =
        _mm256_add_epi32(_mm256_madd_epi16(_mm256_slli_epi16(w.offsets, 8), load32(x.hi_sums)),
                         _mm256_madd_epi16(w.offsets, load32(x.lo_sums)));
    const __m128 t = _mm_fmadd_ss(reduce_eight(less), _mm_mul_ss(w.dmin, _mm_set_ss(0.25f)),
                                  _mm_mul_ss(reduce_eight(sums), w.d));
    acc.first = _mm_fmadd_ss(t, _mm_set_ss(x.scale), acc.first);
  }
  static inline void one(const uint8_t* p, const Chunk& x, Lanes& acc) {
    Weights w;
    decode(p, w);
    apply(w, x, acc);
  }
};

}  // namespace

void matvec_q2_k_avx2(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                      const void* const* x, int rows, float* const* y) {
  MatvecIntTiles<Variant<Q2_K>>::run(w, k / 256 * 84, out_begin, out_end, k, x, rows, y);
}

}  // namespace rota
