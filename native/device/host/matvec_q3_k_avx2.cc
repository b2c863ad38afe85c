// Q3_K for the AVX2 variant: three-bit codes where they lie in their bytes, scales of 16 weights
// multiplied in integers. Bit layout: native/formats/README.md.
#include "device/host/matvec_int_avx2.h"

namespace rota {
namespace {

struct Q3_K {
  static constexpr size_t kBytes = 110;
  using Chunk = StepsChunk;
  struct Lanes {
    __m128 first;  // lane 0 alone
  };
  static constexpr int kStreams = 1, kOutputs = 1;
  static inline float reduce(const Lanes& acc) { return _mm_cvtss_f32(acc.first); }

  struct Weights {
    __m256i code[8], scale[8];  // of 32 weights; their two scales, eight words each
    __m256i scales;             // even ones in the lower half
    __m128 d;
  };

  // Sixteen six-bit scales minus 32: low nibbles from bytes 0..7, top bits from bytes 8..11.
  static inline __m256i unpack_scales(const uint8_t* p) {
    int64_t low;
    int32_t top;
    std::memcpy(&low, p, 8);
    std::memcpy(&top, p + 8, 4);
    const __m128i nibbles = _mm_and_si128(
        _mm_srlv_epi64(_mm_set1_epi64x(low), _mm_set_epi64x(4, 0)), _mm_set1_epi8(15));
    const __m128i pairs = _mm_and_si128(
        _mm_slli_epi16(_mm_srlv_epi32(_mm_set1_epi32(top), _mm_setr_epi32(0, 2, 4, 6)), 4),
        _mm_set1_epi8(0x30));
    const __m128i even_first =
        _mm_shuffle_epi8(_mm_or_si128(nibbles, pairs),
                         _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
    return _mm256_cvtepi8_epi16(_mm_sub_epi8(even_first, _mm_set1_epi8(32)));
  }
  static inline __m256i scale_of_group(__m256i scales, int g) {
    return _mm256_shuffle_epi8(scales,
                               _mm256_set1_epi16(static_cast<int16_t>(2 * g + 256 * (2 * g + 1))));
  }
  // Bit 4 * half + step of the third bits, above the step's two.
  template <int kG>
  static inline __m256i thirds(__m256i high) {
    constexpr int kLeft = kG == 0 ? 2 : kG == 1 || kG == 3 ? 3 : kG == 2 ? 4 : 0;
    constexpr int kRight = kG == 4 ? 2 : kG == 5 || kG == 7 ? 1 : 0;
    if constexpr (kLeft != 0) return _mm256_slli_epi16(high, kLeft);
    if constexpr (kRight != 0) return _mm256_srli_epi16(high, kRight);
    return high;
  }
  // Codes of half kG / 4 and step kG % 4, times 1, 4, 16, 16: a step is left where it lies in its
  // byte, but the last one, whose third bit would lie beyond.
  template <int kG>
  static inline __m256i code_of_group(__m256i high, __m256i packed) {
    constexpr int kAt = kG % 4 == 3 ? 4 : kG % 4 * 2;
    const __m256i two = kG % 4 == 3 ? _mm256_srli_epi16(packed, 2) : packed;
    return _mm256_or_si256(
        _mm256_and_si256(two, _mm256_set1_epi8(static_cast<char>(3 << kAt))),
        _mm256_and_si256(thirds<kG>(high), _mm256_set1_epi8(static_cast<char>(4 << kAt))));
  }
  // Sums of a factor's products with upper and lower bytes.
  struct Sums {
    __m256i hi, lo;
  };
  // Products of a code (112 at most) and a byte: 2 * 112 * 128 in 16 bits; times 32, of four groups
  // at most two words of each, below 2^23.
  [[gnu::always_inline]] static inline Sums product(__m256i code, __m256i scale, const Chunk& x,
                                                    int g) {
    const __m256i hi = _mm256_maddubs_epi16(code, load32(x.hi + steps_place(g)));
    const __m256i lo = _mm256_maddubs_epi16(code, load32(x.lo + steps_place(g)));
    return {_mm256_madd_epi16(hi, scale), _mm256_madd_epi16(lo, scale)};
  }
  static inline Sums add(const Sums& a, const Sums& b) {
    return {_mm256_add_epi32(a.hi, b.hi), _mm256_add_epi32(a.lo, b.lo)};
  }
  template <int kBits>
  static inline Sums shifted(const Sums& a) {
    return {_mm256_srai_epi32(a.hi, kBits), _mm256_srai_epi32(a.lo, kBits)};
  }
  // Eight lanes that are a chunk's sum; group.of<kG>() is the product of half kG / 4 and step kG
  // % 4.
  template <class Group>
  [[gnu::always_inline]] static inline __m256i sum(const Group& group, __m256i scales,
                                                   const Chunk& x) {
    const Sums start = {_mm256_madd_epi16(scales, load32(x.hi_sums)),
                        _mm256_madd_epi16(scales, load32(x.lo_sums))};
    const Sums ones = add(add(start, group.template of<0>()), group.template of<4>());
    const Sums fours = add(group.template of<1>(), group.template of<5>());
    const Sums sixteens = add(add(group.template of<2>(), group.template of<6>()),
                              add(group.template of<3>(), group.template of<7>()));
    const Sums all = add(add(ones, shifted<2>(fours)), shifted<4>(sixteens));
    return _mm256_add_epi32(_mm256_slli_epi32(all.hi, 8), all.lo);
  }
  static inline void finish(__m256i eight, __m128 d, const Chunk& x, Lanes& acc) {
    acc.first = _mm_fmadd_ss(_mm_mul_ss(reduce_eight(eight), d), _mm_set_ss(x.scale), acc.first);
  }
  template <int kG>
  static inline void decode_group(const uint8_t* p, __m256i high, Weights& w) {
    w.code[kG] = code_of_group<kG>(high, load32(p + 32 + 32 * (kG / 4)));
    w.scale[kG] = scale_of_group(w.scales, kG);
  }
  static inline __m128 d_of(const uint8_t* p) { return _mm_cvtph_ps(spread_half(p + 108)); }
  static inline void decode(const uint8_t* p, Weights& w) {
    w.scales = unpack_scales(p + 96);
    w.d = d_of(p);
    const __m256i high = load32(p);
    decode_group<0>(p, high, w);
    decode_group<1>(p, high, w);
    decode_group<2>(p, high, w);
    decode_group<3>(p, high, w);
    decode_group<4>(p, high, w);
    decode_group<5>(p, high, w);
    decode_group<6>(p, high, w);
    decode_group<7>(p, high, w);
  }
  struct Decoded {
    const Weights& w;
    const Chunk& x;
    template <int kG>
    [[gnu::always_inline]] inline Sums of() const {
      return product(w.code[kG], w.scale[kG], x, kG);
    }
  };
  struct Fresh {
    const uint8_t* p;
    __m256i high, scales;
    const Chunk& x;
    template <int kG>
    [[gnu::always_inline]] inline Sums of() const {
      const __m256i code = code_of_group<kG>(high, load32(p + 32 + 32 * (kG / 4)));
      return product(code, scale_of_group(scales, kG), x, kG);
    }
  };
  static inline void apply(const Weights& w, const Chunk& x, Lanes& acc) {
    finish(sum(Decoded{w, x}, w.scales, x), w.d, x, acc);
  }
  [[gnu::always_inline]] static inline void one(const uint8_t* p, const Chunk& x, Lanes& acc) {
    const __m256i scales = unpack_scales(p + 96);
    finish(sum(Fresh{p, load32(p), scales, x}, scales, x), d_of(p), x, acc);
  }
  // Consecutive chunks: the next one's scales are unpacked, and the sum of the one before becomes a
  // float, beside a chunk's products. One after the other they are a chain that is longer than the
  // chunks which a core has registers for.
  [[gnu::always_inline]] static inline void whole(const uint8_t* p, size_t chunks, const Chunk* x,
                                                  Lanes& out) {
    if (chunks == 0) return;
    Lanes acc = out;
    __m256i scales = unpack_scales(p + 96);
    __m256i before = _mm256_setzero_si256();  // the first time 0 is added
    __m128 d = _mm_setzero_ps();
    const Chunk* in = x;
    for (const Chunk* last = x + chunks - 1; x != last; ++x, p += kBytes) {
      prefetch<kBytes>(p + kAhead);
      const __m256i next = unpack_scales(p + kBytes + 96);
      const __m256i eight = sum(Fresh{p, load32(p), scales, *x}, scales, *x);
      finish(before, d, *in, acc);
      before = eight;
      d = d_of(p);
      in = x;
      scales = next;
    }
    prefetch<kBytes>(p + kAhead);
    finish(before, d, *in, acc);
    finish(sum(Fresh{p, load32(p), scales, *x}, scales, *x), d_of(p), *x, acc);
    out = acc;
  }
};

}  // namespace

void matvec_q3_k_avx2(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                      const void* const* x, int rows, float* const* y) {
  MatvecIntTiles<Variant<Q3_K>>::run(w, k / 256 * 110, out_begin, out_end, k, x, rows, y);
}

}  // namespace rota
