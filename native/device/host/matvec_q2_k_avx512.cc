// Q2_K for the AVX-512 variant: step * code is looked up in a table of a sub-block's four products.
// Bit layout: native/formats/README.md.
#include "device/host/matvec_int_avx512.h"

namespace rota {
namespace {

struct Q2_K : KeepsOneLane {
  static constexpr size_t kBytes = 84;
  static constexpr int kStreams = 2, kOutputs = 4;
  static constexpr bool kDecodesAhead = false;
  using Chunk = StepsChunk;
  struct Weights {
    __m512i plane[4];  // of a step: step * code, 45 at most
    __m256i offsets;   // of sub-blocks, even ones in the lower half
    __m128i d, dmin;
  };

  // Codes of a step, plus 4 * kS: their sub-blocks' place in the table.
  template <int kS>
  static inline __m512i codes(__m512i packed) {
    return _mm512_ternarylogic_epi32(_mm512_srli_epi16(packed, 2 * kS), _mm512_set1_epi8(3),
                                     _mm512_set1_epi8(4 * kS), kMaskedOr);
  }
  static inline void decode(const uint8_t* p, Weights& w) {
    // Quarter q of a register is half q / 2 of the block, sub-block q % 2 of a step: of each step
    // two words of products.
    alignas(64) static constexpr uint8_t kOrder[64] = {
        0,  0,  0,  0,  2, 2, 2, 2, 4,  4,  4,  4,  6,  6,  6,  6,  1,  1,  1,  1,  3,  3,
        3,  3,  5,  5,  5, 5, 7, 7, 7,  7,  8,  8,  8,  8,  10, 10, 10, 10, 12, 12, 12, 12,
        14, 14, 14, 14, 9, 9, 9, 9, 11, 11, 11, 11, 13, 13, 13, 13, 15, 15, 15, 15};
    const __m128i stored = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i low_bits = _mm_set1_epi8(15);
    const __m512i words =
        _mm512_maskz_permutexvar_epi8(0x5555555555555555u, load64(kOrder),
                                      _mm512_castsi128_si512(_mm_and_si128(stored, low_bits)));
    const __m512i table = _mm512_mullo_epi16(words, _mm512_set1_epi32(0x03020100));
    const __m512i packed = load64(p + 16);
    w.plane[0] = _mm512_shuffle_epi8(table, _mm512_and_si512(packed, _mm512_set1_epi8(3)));
    w.plane[1] = _mm512_shuffle_epi8(table, codes<1>(packed));
    w.plane[2] = _mm512_shuffle_epi8(table, codes<2>(packed));
    w.plane[3] = _mm512_shuffle_epi8(table, codes<3>(packed));
    const __m128i even_first = _mm_shuffle_epi8(
        stored, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
    w.offsets = _mm256_cvtepu8_epi16(_mm_and_si128(_mm_srli_epi16(even_first, 4), low_bits));
    w.d = spread_half(p + 80);
    w.dmin = spread_half(p + 82);
  }
  static inline __m512i less(const Weights& w, const Chunk& x) {
    return _mm512_zextsi256_si512(
        _mm256_add_epi32(_mm256_madd_epi16(_mm256_slli_epi16(w.offsets, 8), load32(x.hi_sums)),
                         _mm256_madd_epi16(w.offsets, load32(x.lo_sums))));
  }
  template <int kN>
  static inline void apply(const Weights* w, const Chunk& x, Lanes<kN>& acc) {
    __m512i sums[kN], offsets[kN];
    split_sums<4, kN>(w, x, _mm512_setzero_si512(), sums);
#pragma GCC unroll 4
    for (int i = 0; i < kN; ++i) offsets[i] = less(w[i], x);
    const __m128 of_offsets = _mm_cvtepi32_ps(totals<kN>(offsets));
    const __m128 of_steps = _mm_cvtepi32_ps(totals<kN>(sums));
    const __m128 dmin = _mm_mul_ps(scales_of<kN>(w, &Weights::dmin), _mm_set1_ps(0.25f));
    const __m128 t =
        _mm_fmadd_ps(of_offsets, dmin, _mm_mul_ps(of_steps, scales_of<kN>(w, &Weights::d)));
    acc.v = _mm_fmadd_ps(t, _mm_set1_ps(x.scale), acc.v);
  }
};

}  // namespace

void matvec_q2_k_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                        const void* const* x, int rows, float* const* y) {
  MatvecIntTiles<Variant<Q2_K>>::run(w, k / 256 * 84, out_begin, out_end, k, x, rows, y);
}

}  // namespace rota
