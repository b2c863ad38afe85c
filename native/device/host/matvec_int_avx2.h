// What the AVX2 integer kernels have in common: loads, half-precision scales, sixteen lanes.
// Included by *_avx2.cc alone; everything is local to the file that includes it.
#pragma once

#include <immintrin.h>

#include "device/host/matvec_activations.h"
#include "device/host/matvec_int_tiles.h"

namespace rota {
namespace {

inline __m128i load16(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline __m256i load32(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline __m256i load_halves(const void* low, const void* high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(load16(low)), load16(high), 1);
}
inline __m128i spread_half(const uint8_t* p) {
  int16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return _mm_set1_epi16(bits);
}
inline __m256 scale_of(const uint8_t* p) { return _mm256_cvtph_ps(spread_half(p)); }
inline __m256 scales_of(const uint8_t* low, const uint8_t* high) {
  return _mm256_cvtph_ps(_mm_unpacklo_epi64(spread_half(low), spread_half(high)));
}
// Where 32 weights as they come, of half g / 4 and step g % 4, are in the layout of steps.
inline size_t steps_place(int g) {
  return static_cast<size_t>(g) % 4 * 64 + static_cast<size_t>(g) / 4 * 32;
}
// 256 * hi + lo of sums of two products, pairs added: eight lanes.
inline __m256i join(__m256i hi, __m256i lo, __m256i start) {
  return _mm256_add_epi32(_mm256_add_epi32(_mm256_madd_epi16(hi, _mm256_set1_epi16(256)), start),
                          _mm256_madd_epi16(lo, _mm256_set1_epi16(1)));
}

struct SixteenLanes {
  __m256 half[2];  // lanes 0..7, 8..15
};

inline float reduce_sixteen(const SixteenLanes& acc) {
  const __m256 eight = _mm256_add_ps(acc.half[0], acc.half[1]);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline void close(__m256& acc, __m256 t, __m256 scale) { acc = _mm256_fmadd_ps(t, scale, acc); }
inline void close(__m256& acc, __m256 t, float scale) { close(acc, t, _mm256_set1_ps(scale)); }

// The sum of eight lanes, in every lane.
inline __m128 reduce_eight(__m256i eight) {
  const __m128i four =
      _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtepi32_ps(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

// A format's chunk for one output, made one for several.
template <class Format>
struct Variant : Format {
  using typename Format::Chunk;
  using typename Format::Weights;
  template <int kN>
  struct Lanes {
    typename Format::Lanes of[kN];
  };
  template <int kN>
  static inline void reduce(const Lanes<kN>& acc, float* out) {
#pragma GCC unroll 4
    for (int i = 0; i < kN; ++i) out[i] = Format::reduce(acc.of[i]);
  }
  template <int kN>
  static inline void apply(const Weights* w, const Chunk& x, Lanes<kN>& acc) {
#pragma GCC unroll 4
    for (int i = 0; i < kN; ++i) Format::apply(w[i], x, acc.of[i]);
  }
  template <int kN>
  [[gnu::always_inline]] static inline void one(const uint8_t* p, size_t apart, const Chunk& x,
                                                Lanes<kN>& acc) {
#pragma GCC unroll 4
    for (size_t i = 0; i < kN; ++i) Format::one(p + i * apart, x, acc.of[i]);
  }
  template <int kN>
  static inline void whole(const uint8_t* p, size_t apart, size_t chunks, const Chunk* x,
                           Lanes<kN>& acc) {
    if constexpr (requires { &Format::whole; }) {
      static_assert(kN == 1);
      Format::whole(p, chunks, x, acc.of[0]);
    } else {
      for (size_t c = 0; c < chunks; ++c, p += Format::kBytes) {
#pragma GCC unroll 4
        for (size_t i = 0; i < kN; ++i) prefetch<Format::kBytes>(p + i * apart + kAhead);
        one<kN>(p, apart, x[c], acc);
      }
    }
  }
};

}  // namespace

// The formats whose code is in a file of its own; arguments as of matvec_int_rows.
void matvec_ptq1_0_avx2(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                        const void* const* x, int rows, float* const* y);
void matvec_q3_k_avx2(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                      const void* const* x, int rows, float* const* y);
void matvec_q2_k_avx2(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                      const void* const* x, int rows, float* const* y);
void matvec_mxfp4_avx2(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                       const void* const* x, int rows, float* const* y);

}  // namespace rota
