// MXFP4 for the AVX-512 variant: twice the code's value plus 12 is an unsigned byte, looked up. Bit
// layout: native/formats/README.md.
#include "device/host/matvec_int_avx512.h"

namespace rota {
namespace {

struct MXFP4 : KeepsSixteenLanes {
  static constexpr size_t kBytes = 8 * 17;
  static constexpr int kStreams = 2, kOutputs = 2;
  static constexpr bool kDecodesAhead = false;
  using Chunk = NibblesChunk;
  struct Four {  // blocks: their first and second halves
    __m512i half[2];
    __m512 d;
  };
  struct Weights {
    Four four[2];
  };

  // 2^(e - 128): e - 1 is the exponent's field, but for the smallest two, which are subnormal, and
  // for 255, which is a NaN.
  static inline __m512 half_powers(const uint8_t* p) {
    const auto four = [](int value) { return _mm_set1_epi32(value); };
    const __m512i e = _mm512_inserti64x4(
        _mm512_castsi256_si512(
            _mm256_inserti128_si256(_mm256_castsi128_si256(four(p[0])), four(p[17]), 1)),
        _mm256_inserti128_si256(_mm256_castsi128_si256(four(p[34])), four(p[51]), 1), 1);
    __m512i bits = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
    bits = _mm512_mask_sllv_epi32(bits, _mm512_cmplt_epi32_mask(e, _mm512_set1_epi32(2)),
                                  _mm512_set1_epi32(0x00200000), e);
    bits = _mm512_mask_mov_epi32(bits, _mm512_cmpeq_epi32_mask(e, _mm512_set1_epi32(255)),
                                 _mm512_set1_epi32(0x7fc00000));
    return _mm512_castsi512_ps(bits);
  }
  static inline void decode_four(const uint8_t* p, Four& w) {
    const __m512i values = _mm512_broadcast_i32x4(
        _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
    const auto at = [](const uint8_t* q) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(q));
    };
    __m512i packed = _mm512_castsi128_si512(at(p + 1));
    packed = _mm512_mask_broadcast_i32x4(packed, 0x00f0, at(p + 18));
    packed = _mm512_mask_broadcast_i32x4(packed, 0x0f00, at(p + 35));
    packed = _mm512_mask_broadcast_i32x4(packed, 0xf000, at(p + 52));
    const __m512i low = _mm512_set1_epi8(15);
    w.half[0] = _mm512_shuffle_epi8(values, _mm512_and_si512(packed, low));
    w.half[1] = _mm512_shuffle_epi8(values, _mm512_and_si512(_mm512_srli_epi16(packed, 4), low));
    w.d = half_powers(p);
  }
  static inline void decode(const uint8_t* p, Weights& w) {
    decode_four(p, w.four[0]);
    decode_four(p + 68, w.four[1]);
  }
  template <int kN>
  static inline void apply(const Weights* w, const Chunk& x, Lanes<kN>& acc) {
    __m512 t[kN] = {};
#pragma GCC unroll 2
    for (size_t g = 0; g < 2; ++g) {
      const __m512i hi_first = held64(x.hi + 128 * g), hi_second = held64(x.hi + 128 * g + 64);
      const __m512i lo_first = held64(x.lo + 128 * g), lo_second = held64(x.lo + 128 * g + 64);
#pragma GCC unroll 4
      for (int i = 0; i < kN; ++i) {
        const Four& four = w[i].four[g];
        __m512i hi = _mm512_dpbusd_epi32(_mm512_setzero_si512(), four.half[0], hi_first);
        hi = _mm512_dpbusd_epi32(hi, four.half[1], hi_second);
        __m512i lo = _mm512_dpbusd_epi32(load64(x.offset[g]), four.half[0], lo_first);
        lo = _mm512_dpbusd_epi32(lo, four.half[1], lo_second);
        const __m512i sums = _mm512_add_epi32(_mm512_slli_epi32(hi, 8), lo);
        t[i] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), four.d, t[i]);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kN; ++i)
      acc.of[i] = _mm512_fmadd_ps(t[i], _mm512_set1_ps(x.scale), acc.of[i]);
  }
};

}  // namespace

void matvec_mxfp4_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                         const void* const* x, int rows, float* const* y) {
  MatvecIntTiles<Variant<MXFP4>>::run(w, k / 32 * 17, out_begin, out_end, k, x, rows, y);
}

}  // namespace rota
