// PTQ1_0 for the AVX2 variant: digits by two comparisons, next digits by tripling. Bit layout:
// native/formats/README.md.
#include "device/host/matvec_int_avx2.h"

namespace rota {
namespace {

struct PTQ1_0 {
  static constexpr size_t kBytes = 4 * 28;
  using Chunk = TritsChunk;
  using Lanes = SixteenLanes;
  static constexpr int kStreams = 1, kOutputs = 2;
  static inline float reduce(const Lanes& acc) { return reduce_sixteen(acc); }

  struct Half {  // two blocks: sixteen values of each
    __m256i plane[8];
    __m256 d;
  };
  struct Weights {
    Half half[2];
  };

  // A digit is 3 * byte / 256, that is (byte > 85) + (byte > 170); the next one is that of three
  // times the byte. Bytes are moved by 128, since comparisons are signed: odd multiples keep that
  // distance modulo 256.
  static inline __m256i digit(__m256i bytes) {
    const __m256i zeros = _mm256_cmpgt_epi8(_mm256_set1_epi8(86 - 128), bytes);
    const __m256i twos = _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(170 - 128));
    return _mm256_sub_epi8(_mm256_add_epi8(zeros, _mm256_set1_epi8(1)), twos);
  }
  static inline __m256i times3(__m256i bytes) {
    return _mm256_add_epi8(_mm256_add_epi8(bytes, bytes), bytes);
  }
  static inline __m256i moved(const uint8_t* low, const uint8_t* high) {
    return _mm256_xor_si256(load_halves(low, high), _mm256_set1_epi8(-128));
  }
  // Bytes 0..15 of two blocks: planes 0..4.
  static inline void first_planes(const uint8_t* p, __m256i* plane) {
    __m256i bytes = moved(p, p + 28);
    plane[0] = digit(bytes);
#pragma GCC unroll 4
    for (size_t n = 1; n < 5; ++n) {
      bytes = times3(bytes);
      plane[n] = digit(bytes);
    }
  }
  // Bytes 12..27: of 16..23 two digits a plane, then their fifth and four digits of 24 and 25.
  static inline void last_planes(const uint8_t* p, __m256i* plane) {
    const __m256i last = moved(p + 12, p + 40);
    const __m256i eight = _mm256_shuffle_epi8(
        last, _mm256_setr_epi8(4, 5, 6, 7, 8, 9, 10, 11, 4, 5, 6, 7, 8, 9, 10, 11, 4, 5, 6, 7, 8, 9,
                               10, 11, 4, 5, 6, 7, 8, 9, 10, 11));
    const __m256i first = _mm256_blend_epi32(eight, times3(eight), 0xcc);
    plane[0] = digit(first);
    const __m256i third = times3(times3(first));
    plane[1] = digit(third);
    const __m256i pair = _mm256_shuffle_epi8(
        last, _mm256_setr_epi8(12, 13, 12, 13, 12, 13, 12, 13, 12, 13, 12, 13, 12, 13, 12, 13, 12,
                               13, 12, 13, 12, 13, 12, 13, 12, 13, 12, 13, 12, 13, 12, 13));
    const __m256i two = _mm256_blend_epi16(pair, times3(pair), 0xaa);
    const __m256i next = times3(times3(_mm256_blend_epi32(third, two, 0xcc)));
    plane[2] = digit(_mm256_blend_epi32(next, two, 0x44));
  }
  // At most 8 planes * 2 products of 2 * 128 in 16 bits.
  struct Sums {
    __m256i hi, lo;
    inline void add(size_t n, __m256i plane, const Chunk& x, size_t h) {
      hi = _mm256_add_epi16(hi, _mm256_maddubs_epi16(plane, load32(x.hi + 64 * n + 32 * h)));
      lo = _mm256_add_epi16(lo, _mm256_maddubs_epi16(plane, load32(x.lo + 64 * n + 32 * h)));
    }
  };
  static inline void close_half(const Sums& sums, __m256 d, const Chunk& x, size_t h, Lanes& acc) {
    const __m256i all = join(sums.hi, sums.lo, load32(x.offset + 8 * h));
    close(acc.half[h], _mm256_mul_ps(_mm256_cvtepi32_ps(all), d), _mm256_load_ps(x.scale + 8 * h));
  }
  [[gnu::always_inline]] static inline void decode(const uint8_t* p, Weights& w) {
#pragma GCC unroll 2
    for (size_t h = 0; h < 2; ++h, p += 56) {
      Half& half = w.half[h];
      first_planes(p, half.plane);
      last_planes(p, half.plane + 5);
      half.d = scales_of(p + 26, p + 54);
    }
  }
  [[gnu::always_inline]] static inline void apply(const Weights& w, const Chunk& x, Lanes& acc) {
#pragma GCC unroll 2
    for (size_t h = 0; h < 2; ++h) {
      Sums sums = {};
#pragma GCC unroll 8
      for (size_t n = 0; n < 8; ++n) sums.add(n, w.half[h].plane[n], x, h);
      close_half(sums, w.half[h].d, x, h, acc);
    }
  }
  [[gnu::always_inline]] static inline void one(const uint8_t* p, const Chunk& x, Lanes& acc) {
#pragma GCC unroll 2
    for (size_t h = 0; h < 2; ++h, p += 56) {
      Sums sums = {};
      __m256i plane[5];
      first_planes(p, plane);
#pragma GCC unroll 5
      for (size_t n = 0; n < 5; ++n) sums.add(n, plane[n], x, h);
      last_planes(p, plane);
#pragma GCC unroll 3
      for (size_t n = 0; n < 3; ++n) sums.add(5 + n, plane[n], x, h);
      close_half(sums, scales_of(p + 26, p + 54), x, h, acc);
    }
  }
};

}  // namespace

void matvec_ptq1_0_avx2(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                        const void* const* x, int rows, float* const* y) {
  MatvecIntTiles<Variant<PTQ1_0>>::run(w, k / 128 * 28, out_begin, out_end, k, x, rows, y);
}

}  // namespace rota
