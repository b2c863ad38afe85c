// Q2_K for the AVX-512 variant: step * code is looked up in a table of a sub-block's four products.
// Bit layout: native/formats/README.md.
#include "device/host/matvec_int_avx512.h"

namespace rota {
namespace {

struct Q2_K {
  static constexpr size_t kBytes = 84;
  static constexpr int kStreams = 2, kOutputs = 4;
  using Chunk = NaturalChunk;
  struct Lanes {
    __m128 first;  // lane 0 alone
  };
  static inline float reduce(const Lanes& acc) { return _mm_cvtss_f32(acc.first); }
  struct Weights {
    __m512i plane[4];  // of 64 weights: step * code, 45 at most
    __m256i offsets;   // of sub-blocks, even ones in the lower half
    __m128 d, dmin;
  };

  static inline __m512i fields(int64_t low, int64_t high) {
    return _mm512_inserti64x4(_mm512_set1_epi64(low), _mm256_set1_epi64x(high), 1);
  }
  // Codes of 64 weights, plus 4 * kG: their sub-blocks' place in the table.
  template <int kG>
  static inline __m512i codes(const uint8_t* packed) {
    constexpr int kShift = 4 * (kG % 2);
    return _mm512_gf2p8affine_epi64_epi8(_mm512_broadcast_i64x4(load32(packed + 32 * (kG / 2))),
                                         fields(field(kShift, 2, 0), field(kShift + 2, 2, 0)),
                                         4 * kG);
  }
  static inline void decode(const uint8_t* p, Weights& w) {
    // Quarter q of a register meets sub-blocks q, 4 + q, 8 + q, 12 + q: two words of products each.
    alignas(64) static constexpr uint8_t kOrder[64] = {
        0,  0,  0,  0,  4, 4, 4,  4,  8,  8,  8, 8, 12, 12, 12, 12, 1,  1,  1,  1,  5,  5,
        5,  5,  9,  9,  9, 9, 13, 13, 13, 13, 2, 2, 2,  2,  6,  6,  6,  6,  10, 10, 10, 10,
        14, 14, 14, 14, 3, 3, 3,  3,  7,  7,  7, 7, 11, 11, 11, 11, 15, 15, 15, 15};
    const __m128i stored = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i low_bits = _mm_set1_epi8(15);
    const __m512i words =
        _mm512_maskz_permutexvar_epi8(0x5555555555555555u, load64(kOrder),
                                      _mm512_castsi128_si512(_mm_and_si128(stored, low_bits)));
    const __m512i table = _mm512_mullo_epi16(words, _mm512_set1_epi32(0x03020100));
    w.plane[0] = _mm512_shuffle_epi8(table, codes<0>(p + 16));
    w.plane[1] = _mm512_shuffle_epi8(table, codes<1>(p + 16));
    w.plane[2] = _mm512_shuffle_epi8(table, codes<2>(p + 16));
    w.plane[3] = _mm512_shuffle_epi8(table, codes<3>(p + 16));
    const __m128i even_first = _mm_shuffle_epi8(
        stored, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
    w.offsets = _mm256_cvtepu8_epi16(_mm_and_si128(_mm_srli_epi16(even_first, 4), low_bits));
    w.d = _mm_cvtph_ps(spread_half(p + 80));
    w.dmin = _mm_cvtph_ps(spread_half(p + 82));
  }
  static inline __m128 sum(__m256i eight) {
    const __m128i four =
        _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtepi32_ps(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
  }
  template <int kN>
  static inline void apply(const Weights* w, const Chunk& x, Lanes* acc) {
    __m512i sums[kN];
    split_sums<4, kN>(w, x, _mm512_setzero_si512(), sums);
#pragma GCC unroll 4
    for (int i = 0; i < kN; ++i) {
      const __m256i less =
          _mm256_add_epi32(_mm256_madd_epi16(_mm256_slli_epi16(w[i].offsets, 8), load32(x.hi_sums)),
                           _mm256_madd_epi16(w[i].offsets, load32(x.lo_sums)));
      const __m128 all = sum(
          _mm256_add_epi32(_mm512_castsi512_si256(sums[i]), _mm512_extracti64x4_epi64(sums[i], 1)));
      const __m128 t = _mm_fmadd_ss(sum(less), _mm_mul_ss(w[i].dmin, _mm_set_ss(0.25f)),
                                    _mm_mul_ss(all, w[i].d));
      acc[i].first = _mm_fmadd_ss(t, _mm_set_ss(x.scale), acc[i].first);
    }
  }
};

}  // namespace

void matvec_q2_k_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                        const void* const* x, int rows, float* const* y) {
  MatvecIntTiles<Variant<Q2_K>>::run(w, k / 256 * 84, out_begin, out_end, k, x, rows, y);
}

}  // namespace rota
