// Q3_K for the AVX2 variant: three-bit codes, scales of 16 weights multiplied in integers. Bit
// layout: native/formats/README.md.
#include "device/host/matvec_int_avx2.h"

namespace rota {
namespace {

struct Q3_K {
  static constexpr size_t kBytes = 110;
  using Chunk = StepsChunk;
  struct Lanes {
    __m128 first;  // lane 0 alone
  };
  static constexpr int kStreams = 1, kOutputs = 4;
  static inline float reduce(const Lanes& acc) { return _mm_cvtss_f32(acc.first); }

  struct Weights {
    __m256i code[8], scale[8];  // of 32 weights; their two scales, eight words each
    __m256i scales;             // even ones in the lower half
    __m128 d;
  };
  // Sixteen six-bit scales minus 32: low nibbles from bytes 0..7, top bits from bytes 8..11.
  static inline __m256i unpack_scales(const uint8_t* p) {
    uint32_t a, b, top;
    std::memcpy(&a, p, 4);
    std::memcpy(&b, p + 4, 4);
    std::memcpy(&top, p + 8, 4);
    const auto pair = [](uint32_t first, uint32_t second) {
      return static_cast<int64_t>(first | static_cast<uint64_t>(second) << 32);
    };
    const __m128i natural =
        _mm_set_epi64x(pair(((a >> 4) & 0x0f0f0f0fu) | (((top >> 4) & 0x03030303u) << 4),
                            ((b >> 4) & 0x0f0f0f0fu) | (((top >> 6) & 0x03030303u) << 4)),
                       pair((a & 0x0f0f0f0fu) | ((top & 0x03030303u) << 4),
                            (b & 0x0f0f0f0fu) | (((top >> 2) & 0x03030303u) << 4)));
    const __m128i even_first = _mm_shuffle_epi8(
        natural, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
    return _mm256_cvtepi8_epi16(_mm_sub_epi8(even_first, _mm_set1_epi8(32)));
  }
  static inline __m256i scale_of_group(__m256i scales, int g) {
    return _mm256_shuffle_epi8(scales,
                               _mm256_set1_epi16(static_cast<int16_t>(2 * g + 256 * (2 * g + 1))));
  }
  static inline __m256i code_of_group(__m256i high, __m256i packed, int g) {
    const __m256i low =
        _mm256_and_si256(_mm256_srli_epi16(packed, 2 * (g % 4)), _mm256_set1_epi8(3));
    const __m256i bit = g < 2 ? _mm256_slli_epi16(high, 2 - g) : _mm256_srli_epi16(high, g - 2);
    return _mm256_or_si256(low, _mm256_and_si256(bit, _mm256_set1_epi8(4)));
  }
  // Products of a code and a byte: 2 * 7 * 128 in 16 bits; times 256 scales, so that hi and lo meet
  // in one sum.
  static inline void add_group(__m256i code, __m256i scale, const Chunk& x, int g, __m256i* sums) {
    const __m256i hi = _mm256_maddubs_epi16(code, load32(x.hi + steps_place(g)));
    const __m256i lo = _mm256_maddubs_epi16(code, load32(x.lo + steps_place(g)));
    const __m256i both = _mm256_add_epi32(_mm256_madd_epi16(hi, _mm256_slli_epi16(scale, 8)),
                                          _mm256_madd_epi16(lo, scale));
    sums[g % 2] = _mm256_add_epi32(sums[g % 2], both);
  }
  static inline __m256i start(__m256i scales, const Chunk& x) {
    return _mm256_add_epi32(_mm256_madd_epi16(_mm256_slli_epi16(scales, 8), load32(x.hi_sums)),
                            _mm256_madd_epi16(scales, load32(x.lo_sums)));
  }
  static inline void finish(const __m256i* sums, __m128 d, const Chunk& x, Lanes& acc) {
    const __m256i eight = _mm256_add_epi32(sums[0], sums[1]);
    const __m128i four =
        _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    const __m128i one = _mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1));
    acc.first = _mm_fmadd_ss(_mm_mul_ss(_mm_cvtepi32_ps(one), d), _mm_set_ss(x.scale), acc.first);
  }
  static inline void decode(const uint8_t* p, Weights& w) {
    w.scales = unpack_scales(p + 96);
    w.d = _mm_cvtph_ps(spread_half(p + 108));
    const __m256i high = load32(p);
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) {
      w.code[g] = code_of_group(high, load32(p + 32 + 32 * (g / 4)), g);
      w.scale[g] = scale_of_group(w.scales, g);
    }
  }
  static inline void apply(const Weights& w, const Chunk& x, Lanes& acc) {
    __m256i sums[2] = {start(w.scales, x), _mm256_setzero_si256()};
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) add_group(w.code[g], w.scale[g], x, g, sums);
    finish(sums, w.d, x, acc);
  }
  static inline void one(const uint8_t* p, const Chunk& x, Lanes& acc) {
    const __m256i scales = unpack_scales(p + 96);
    const __m256i high = load32(p);
    __m256i sums[2] = {start(scales, x), _mm256_setzero_si256()};
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) {
      const __m256i code = code_of_group(high, load32(p + 32 + 32 * (g / 4)), g);
      add_group(code, scale_of_group(scales, g), x, g, sums);
    }
    finish(sums, _mm_cvtph_ps(spread_half(p + 108)), x, acc);
  }
};

}  // namespace

void matvec_q3_k_avx2(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                      const void* const* x, int rows, float* const* y) {
  MatvecIntTiles<Variant<Q3_K>>::run(w, k / 256 * 110, out_begin, out_end, k, x, rows, y);
}

}  // namespace rota
