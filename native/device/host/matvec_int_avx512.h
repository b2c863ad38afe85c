// What the AVX-512 integer kernels have in common. Included by *_avx512.cc alone; everything is
// local to the file that includes it.
#pragma once

#include <immintrin.h>

#include "device/host/matvec_activations.h"
#include "device/host/matvec_int_tiles.h"

namespace rota {
namespace {

inline __m256i load32(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline __m512i load64(const void* p) { return _mm512_loadu_si512(p); }
// A load into a register, once: the compiler would rather read memory again for every use, and a
// core reads 64 bytes a cycle at most.
inline __m512i held64(const void* p) {
  __m512i value = _mm512_loadu_si512(p);
  asm("" : "+v"(value));
  return value;
}
inline __m128i spread_half(const uint8_t* p) {
  int16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return _mm_set1_epi16(bits);
}

struct SixteenLanes {
  __m512 v;
};

inline float reduce_sixteen(const SixteenLanes& acc) {
  const __m256 eight =
      _mm256_add_ps(_mm512_castps512_ps256(acc.v), _mm512_extractf32x8_ps(acc.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// Bits [from, from + width) of every byte, at bit `to`: the matrix of an affine transformation,
// whose output bit i is the parity of the input under byte 7 - i.
constexpr int64_t field(int from, int width, int to) {
  uint64_t matrix = 0;
  for (int i = 0; i < width; ++i) {
    matrix |= uint64_t{1} << (8 * (7 - (to + i)) + from + i);
  }
  return static_cast<int64_t>(matrix);
}
template <int kFrom>
inline __m512i two_bits(__m512i bytes) {
  return _mm512_gf2p8affine_epi64_epi8(bytes, _mm512_set1_epi64(field(kFrom, 2, 0)), 0);
}

// Planes of unsigned codes times both bytes of the activations, for kN outputs: 256 * hi + lo, from
// `start`. F has plane[kPlanes] in its weights.
template <int kPlanes, int kN, class Weights, class Chunk>
inline void split_sums(const Weights* w, const Chunk& x, __m512i start, __m512i* sums) {
  __m512i hi[kN], lo[kN];
#pragma GCC unroll 4
  for (int i = 0; i < kN; ++i) {
    hi[i] = _mm512_setzero_si512();
    lo[i] = start;
  }
#pragma GCC unroll 8
  for (size_t s = 0; s < kPlanes; ++s) {
    const __m512i x_hi = held64(x.hi + 64 * s), x_lo = held64(x.lo + 64 * s);
#pragma GCC unroll 4
    for (int i = 0; i < kN; ++i) {
      hi[i] = _mm512_dpbusd_epi32(hi[i], w[i].plane[s], x_hi);
      lo[i] = _mm512_dpbusd_epi32(lo[i], w[i].plane[s], x_lo);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kN; ++i) sums[i] = _mm512_add_epi32(_mm512_slli_epi32(hi[i], 8), lo[i]);
}

// What every format does alike: a chunk for one row is its decoding and its use.
template <class Format>
struct Variant : Format {
  template <int kN>
  static inline void one(const uint8_t* p, size_t apart, const typename Format::Chunk& x,
                         typename Format::Lanes* acc) {
    typename Format::Weights w[kN];
#pragma GCC unroll 4
    for (size_t i = 0; i < kN; ++i) Format::decode(p + i * apart, w[i]);
    Format::template apply<kN>(w, x, acc);
  }
};

}  // namespace

// The formats whose code is in a file of its own; arguments as of matvec_int_rows.
void matvec_q3_k_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                        const void* const* x, int rows, float* const* y);
void matvec_q2_k_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                        const void* const* x, int rows, float* const* y);
void matvec_mxfp4_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                         const void* const* x, int rows, float* const* y);

}  // namespace rota
