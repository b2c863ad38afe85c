// Q3_K for the AVX-512 variant: scale * code is looked up in a table of a sub-block's eight
// products, so that a chunk needs no multiplication but those with the activations. Bit layout:
// native/formats/README.md.
#include "device/host/matvec_int_avx512.h"

namespace rota {
namespace {

struct Q3_K : KeepsOneLane {
  static constexpr size_t kBytes = 110;
  static constexpr int kStreams = 2, kOutputs = 4;
  static constexpr bool kDecodesAhead = true;
  using Chunk = StepsChunk;
  struct Weights {
    __m512i plane[4];  // of a step: scale * (code - 4) + 124
    __m128i d;
  };

  // Sixteen six-bit scales (plus 32): low nibbles from bytes 0..7, top bits from bytes 8..11.
  static inline __m128i unpack_scales(const uint8_t* p) {
    int64_t low;
    int32_t top;
    std::memcpy(&low, p, 8);
    std::memcpy(&top, p + 8, 4);
    // For each scale the bit at which its low nibble starts, and four before its top bits.
    const __m128i nibble =
        _mm_setr_epi8(0, 8, 16, 24, 32, 40, 48, 56, 4, 12, 20, 28, 36, 44, 52, 60);
    const __m128i pair = _mm_setr_epi8(60, 4, 12, 20, 62, 6, 14, 22, 0, 8, 16, 24, 2, 10, 18, 26);
    const __m128i both = _mm_ternarylogic_epi32(
        _mm_multishift_epi64_epi8(nibble, _mm_set1_epi64x(low)),
        _mm_multishift_epi64_epi8(pair, _mm_set1_epi32(top)), _mm_set1_epi8(15), kChoose);
    return _mm_and_si128(both, _mm_set1_epi8(63));
  }
  // The products of the sub-blocks of steps s and s + 2, eight bytes each: code - 4 is 0 -4 1 -3 2
  // -2 3 -1. A word of the stored scale twice, times n + 256 * 252, has scale * n and scale * (n -
  // 4) in its bytes, and nothing is carried (189 at most); the 32 that the stored scale has too
  // much goes into what is added.
  static inline __m512i products(__m128i scales, const uint8_t* order) {
    const __m512i words = _mm512_permutexvar_epi8(load64(order), _mm512_castsi128_si512(scales));
    const __m512i times =
        _mm512_mullo_epi16(words, _mm512_set1_epi64(static_cast<int64_t>(0xfc03fc02fc01fc00u)));
    const __m512i base = _mm512_set1_epi64(static_cast<int64_t>(0x9c1cbc3cdc5cfc7cu));
    return _mm512_add_epi8(base, times);  // 124 - 32 * (code - 4)
  }
  static inline __m512i fields(int64_t low, int64_t high) {
    return _mm512_inserti64x4(_mm512_set1_epi64(low), _mm256_set1_epi64x(high), 1);
  }
  // The inverted third bits of steps kS and kS + 2 of both halves: bits 0 and 4 of a byte.
  template <int kS>
  static inline __m512i thirds(__m512i high) {
    return _mm512_gf2p8affine_epi64_epi8(
        high,
        fields(field(kS, 1, 0) | field(kS + 2, 1, 4), field(kS + 4, 1, 0) | field(kS + 6, 1, 4)),
        0x11);
  }
  static inline void decode(const uint8_t* p, Weights& w) {
    struct Order {
      uint8_t at[64];
    };
    // Quarter q of a register is half q / 2 of the block, sub-block q % 2 of a step.
    constexpr auto order = [](int step) {
      Order out{};
      for (int i = 0; i < 64; ++i) {
        out.at[i] =
            static_cast<uint8_t>(i / 32 * 8 + 2 * (step + (i % 16 < 8 ? 0 : 2)) + i / 16 % 2);
      }
      return out;
    };
    alignas(64) static constexpr Order kEven = order(0), kOdd = order(1);
    const __m512i packed = load64(p + 32), high = _mm512_broadcast_i64x4(load32(p));
    // A nibble is a place in a table: two bits of a code, then the inverted third. The lookup wants
    // bit 7 clear and ignores bits 4 to 6.
    const __m512i two_bits_each = _mm512_set1_epi8(0x66);
    const __m512i even = _mm512_ternarylogic_epi32(_mm512_add_epi8(packed, packed), two_bits_each,
                                                   thirds<0>(high), kMaskedOr);
    const __m512i odd = _mm512_ternarylogic_epi32(_mm512_srli_epi16(packed, 1), two_bits_each,
                                                  thirds<1>(high), kMaskedOr);
    const __m128i scales = unpack_scales(p + 96);
    const __m512i of_even = products(scales, kEven.at), of_odd = products(scales, kOdd.at);
    const __m512i second = _mm512_set1_epi8(8);  // the table's second eight bytes
    w.plane[0] = _mm512_shuffle_epi8(of_even, even);
    w.plane[1] = _mm512_shuffle_epi8(of_odd, odd);
    w.plane[2] = _mm512_shuffle_epi8(of_even, _mm512_or_si512(_mm512_srli_epi16(even, 4), second));
    w.plane[3] = _mm512_shuffle_epi8(of_odd, _mm512_or_si512(_mm512_srli_epi16(odd, 4), second));
    w.d = spread_half(p + 108);
  }
  template <int kN>
  static inline void apply(const Weights* w, const Chunk& x, Lanes<kN>& acc) {
    __m512i sums[kN];
    split_sums<4, kN>(w, x, _mm512_setzero_si512(), sums);
    const __m128i all = _mm_add_epi32(totals<kN>(sums), _mm_set1_epi32(x.offset));
    const __m128 t = _mm_mul_ps(_mm_cvtepi32_ps(all), scales_of<kN>(w, &Weights::d));
    acc.v = _mm_fmadd_ps(t, _mm_set1_ps(x.scale), acc.v);
  }
};

}  // namespace

void matvec_q3_k_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                        const void* const* x, int rows, float* const* y) {
  MatvecIntTiles<Variant<Q3_K>>::run(w, k / 256 * 110, out_begin, out_end, k, x, rows, y);
}

}  // namespace rota
