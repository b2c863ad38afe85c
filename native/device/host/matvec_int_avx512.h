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

inline float reduce_sixteen(__m512 acc) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(acc), _mm512_extractf32x8_ps(acc, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// kN outputs of sixteen lanes each.
template <int kN>
struct SixteenLanes {
  __m512 of[kN];
};
struct KeepsSixteenLanes {
  template <int kN>
  using Lanes = SixteenLanes<kN>;
  template <int kN>
  static inline void reduce(const Lanes<kN>& acc, float* out) {
#pragma GCC unroll 4
    for (int i = 0; i < kN; ++i) out[i] = reduce_sixteen(acc.of[i]);
  }
};

// kN outputs of one lane each (1, 2 or 4), in a register together: output i's is lane i * 4 / kN.
template <int kN>
struct OneLane {
  __m128 v;
};
struct KeepsOneLane {
  template <int kN>
  using Lanes = OneLane<kN>;
  template <int kN>
  static inline void reduce(const Lanes<kN>& acc, float* out) {
    alignas(16) float four[4];
    _mm_store_ps(four, acc.v);
    for (int i = 0; i < kN; ++i) out[i] = four[i * (4 / kN)];
  }
};
inline __m512i add_pairs(__m512i a, __m512i b) {
  return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}
inline __m128i add_quarters(__m512i v) {
  const __m256i eight =
      _mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
}
// The sum of each register's sixteen lanes, where OneLane<kN> has it.
template <int kN>
inline __m128i totals(const __m512i* sums) {
  static_assert(kN == 1 || kN == 2 || kN == 4);
  if constexpr (kN == 4) {
    const __m512 ab = _mm512_castsi512_ps(add_pairs(sums[0], sums[1]));
    const __m512 cd = _mm512_castsi512_ps(add_pairs(sums[2], sums[3]));
    return add_quarters(_mm512_add_epi32(_mm512_castps_si512(_mm512_shuffle_ps(ab, cd, 0x88)),
                                         _mm512_castps_si512(_mm512_shuffle_ps(ab, cd, 0xdd))));
  } else {
    __m128i two;
    if constexpr (kN == 2) {
      two = add_quarters(add_pairs(sums[0], sums[1]));
    } else {
      const __m128i four = add_quarters(sums[0]);
      two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    }
    return _mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1));
  }
}
// Half-precision scales of kN outputs (each spread over its register), where OneLane<kN> has them.
template <int kN, class Weights>
inline __m128 scales_of(const Weights* w, __m128i Weights::* half) {
  if constexpr (kN == 4) {
    return _mm_cvtph_ps(_mm_unpacklo_epi32(_mm_unpacklo_epi16(w[0].*half, w[1].*half),
                                           _mm_unpacklo_epi16(w[2].*half, w[3].*half)));
  } else {
    return _mm_cvtph_ps(kN == 2 ? _mm_unpacklo_epi32(w[0].*half, w[kN - 1].*half) : w[0].*half);
  }
}

// VPTERNLOG's truth tables: (a & b) | c, and the bits of a where c has ones, else those of b.
inline constexpr int kMaskedOr = 0xea, kChoose = 0xe4;

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

// kN outputs' sums of a chunk into their lanes.
template <int kN, class Weights>
inline void close(const Weights* w, const __m512i* sums, __m512 scale, SixteenLanes<kN>& acc) {
#pragma GCC unroll 4
  for (int i = 0; i < kN; ++i) {
    const __m512 t = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[i]), w[i].d);
    acc.of[i] = _mm512_fmadd_ps(t, scale, acc.of[i]);
  }
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

// What every format does alike: a chunk for one row is its decoding and its use. A format that
// kDecodesAhead decodes a chunk while the one before is used: from Q3_K's bytes to its sum is a
// chain of some 70 cycles, and a core (Zen 4: 192 vector registers) keeps less than two chunks of
// two outputs on their way. Where five planes or more have to be kept as well, that does not pay.
template <class Format>
struct Variant : Format {
  using typename Format::Chunk;
  using typename Format::Weights;
  template <int kN>
  using Lanes = typename Format::template Lanes<kN>;
  template <int kN>
  static inline void prefetch_each(const uint8_t* p, size_t apart) {
#pragma GCC unroll 4
    for (size_t i = 0; i < kN; ++i) prefetch<Format::kBytes>(p + i * apart + kAhead);
  }
  template <int kN>
  static inline void decode_each(const uint8_t* p, size_t apart, Weights* w) {
#pragma GCC unroll 4
    for (size_t i = 0; i < kN; ++i) Format::decode(p + i * apart, w[i]);
  }
  template <int kN>
  static inline void whole(const uint8_t* p, size_t apart, size_t chunks, const Chunk* x,
                           Lanes<kN>& acc) {
    if constexpr (Format::kDecodesAhead) {
      if (chunks == 0) return;
      prefetch_each<kN>(p, apart);
      Weights now[kN];
      decode_each<kN>(p, apart, now);
      for (size_t c = 1; c < chunks; ++c) {
        p += Format::kBytes;
        prefetch_each<kN>(p, apart);
        Weights next[kN];
        decode_each<kN>(p, apart, next);
        Format::template apply<kN>(now, x[c - 1], acc);
#pragma GCC unroll 4
        for (size_t i = 0; i < kN; ++i) now[i] = next[i];
      }
      Format::template apply<kN>(now, x[chunks - 1], acc);
    } else {
      for (size_t c = 0; c < chunks; ++c, p += Format::kBytes) {
        prefetch_each<kN>(p, apart);
        one<kN>(p, apart, x[c], acc);
      }
    }
  }
  template <int kN>
  static inline void one(const uint8_t* p, size_t apart, const Chunk& x, Lanes<kN>& acc) {
    Weights w[kN];
    decode_each<kN>(p, apart, w);
    Format::template apply<kN>(w, x, acc);
  }
};

}  // namespace

// The formats whose code is in a file of its own; arguments as of matvec_int_rows.
void matvec_q2_0_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                        const void* const* x, int rows, float* const* y);
void matvec_ptq1_0_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                          const void* const* x, int rows, float* const* y);
void matvec_q3_k_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                        const void* const* x, int rows, float* const* y);
void matvec_q2_k_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                        const void* const* x, int rows, float* const* y);
void matvec_mxfp4_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                         const void* const* x, int rows, float* const* y);

}  // namespace rota
