// Q3_K for the AVX-512 variant: scale * code is looked up in a table of a sub-block's eight
// products, so that a chunk needs no multiplication but those with the activations. Bit layout:
// native/formats/README.md.
#include "device/host/matvec_int_avx512.h"

namespace rota {
namespace {

struct Q3_K {
  static constexpr size_t kBytes = 110;
  static constexpr int kStreams = 2, kOutputs = 4;
  using Chunk = NaturalChunk;
  struct Lanes {
    __m128 first;  // lane 0 alone
  };
  static inline float reduce(const Lanes& acc) { return _mm_cvtss_f32(acc.first); }
  struct Weights {
    __m512i plane[4];  // of 64 weights: scale * (code - 4) + 124
    __m128 d;
  };

  // Sixteen six-bit scales (plus 32): low nibbles from bytes 0..7, top bits from bytes 8..11.
  static inline __m512i unpack_scales(const uint8_t* p) {
    uint32_t a, b, top;
    std::memcpy(&a, p, 4);
    std::memcpy(&b, p + 4, 4);
    std::memcpy(&top, p + 8, 4);
    const auto pair = [](uint32_t first, uint32_t second) {
      return static_cast<int64_t>(first | static_cast<uint64_t>(second) << 32);
    };
    return _mm512_castsi128_si512(
        _mm_set_epi64x(pair(((a >> 4) & 0x0f0f0f0fu) | (((top >> 4) & 0x03030303u) << 4),
                            ((b >> 4) & 0x0f0f0f0fu) | (((top >> 6) & 0x03030303u) << 4)),
                       pair((a & 0x0f0f0f0fu) | ((top & 0x03030303u) << 4),
                            (b & 0x0f0f0f0fu) | (((top >> 2) & 0x03030303u) << 4))));
  }
  // The products of sub-blocks q + first and q + first + 4 in quarter q, eight bytes each. The
  // stored scale times 4 3 2 1 0 1 2 3 is two clean bytes a word (252 at most); the first four are
  // negative, and the 32 that the stored scale has too much goes into what is added.
  static inline __m512i products(__m512i scales, const uint8_t* order) {
    const __m512i words = _mm512_maskz_permutexvar_epi8(0x5555555555555555u, load64(order), scales);
    const __m512i times = _mm512_mullo_epi16(words, _mm512_set1_epi64(0x0302010001020304));
    const __m512i base = _mm512_set1_epi64(0x1c3c5c7c9cbcdcfc);  // 124 - 32 * (-4 .. 3)
    return _mm512_mask_sub_epi8(_mm512_add_epi8(base, times), 0x0f0f0f0f0f0f0f0fu, base, times);
  }
  static inline __m512i fields(int64_t low, int64_t high) {
    return _mm512_inserti64x4(_mm512_set1_epi64(low), _mm256_set1_epi64x(high), 1);
  }
  // Codes of 64 weights: half g / 2 of the block, steps 2 * (g % 2) and the next. kHalf is added to
  // them: the table's second eight bytes.
  template <int kG>
  static inline __m512i codes(__m512i high, const uint8_t* packed) {
    constexpr int kShift = 4 * (kG % 2), kSecond = kG % 2 * 8;
    const __m512i low =
        _mm512_gf2p8affine_epi64_epi8(_mm512_broadcast_i64x4(load32(packed + 32 * (kG / 2))),
                                      fields(field(kShift, 2, 0), field(kShift + 2, 2, 0)), 0);
    const __m512i bit = _mm512_gf2p8affine_epi64_epi8(
        high, fields(field(2 * kG, 1, 2), field(2 * kG + 1, 1, 2)), kSecond);
    return _mm512_or_si512(low, bit);
  }
  static inline void decode(const uint8_t* p, Weights& w) {
    struct Order {
      uint8_t at[64];
    };
    constexpr auto order = [](int first) {
      Order out{};
      for (int i = 0; i < 64; ++i) {
        out.at[i] = static_cast<uint8_t>(first + i / 16 + (i % 16 < 8 ? 0 : 4));
      }
      return out;
    };
    alignas(64) static constexpr Order kFirst = order(0), kSecond = order(8);
    const __m512i scales = unpack_scales(p + 96);
    const __m512i first = products(scales, kFirst.at), second = products(scales, kSecond.at);
    const __m512i high = _mm512_broadcast_i64x4(load32(p));
    w.plane[0] = _mm512_shuffle_epi8(first, codes<0>(high, p + 32));
    w.plane[1] = _mm512_shuffle_epi8(first, codes<1>(high, p + 32));
    w.plane[2] = _mm512_shuffle_epi8(second, codes<2>(high, p + 32));
    w.plane[3] = _mm512_shuffle_epi8(second, codes<3>(high, p + 32));
    w.d = _mm_cvtph_ps(spread_half(p + 108));
  }
  template <int kN>
  static inline void apply(const Weights* w, const Chunk& x, Lanes* acc) {
    __m512i sums[kN];
    split_sums<4, kN>(w, x, _mm512_setzero_si512(), sums);
#pragma GCC unroll 4
    for (int i = 0; i < kN; ++i) {
      const __m256i eight =
          _mm256_add_epi32(_mm512_castsi512_si256(sums[i]), _mm512_extracti64x4_epi64(sums[i], 1));
      const __m128i four =
          _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
      const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
      const __m128i all = _mm_add_epi32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)),
                                        _mm_cvtsi32_si128(x.offset));
      acc[i].first =
          _mm_fmadd_ss(_mm_mul_ss(_mm_cvtepi32_ps(all), w[i].d), _mm_set_ss(x.scale), acc[i].first);
    }
  }
};

}  // namespace

void matvec_q3_k_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                        const void* const* x, int rows, float* const* y) {
  MatvecIntTiles<Variant<Q3_K>>::run(w, k / 256 * 110, out_begin, out_end, k, x, rows, y);
}

}  // namespace rota
