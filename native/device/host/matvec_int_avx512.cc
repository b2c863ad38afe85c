// The AVX-512 variant of the integer kernel: VNNI sums bytes and words straight into 32 bits, all
// 16 lanes in a register. The sums are those of the AVX2 variant. Bit layouts:
// native/formats/README.md.
#include <immintrin.h>

#include "device/host/matvec_activations.h"
#include "device/host/matvec_int_kernels.h"
#include "device/host/matvec_int_tiles.h"

namespace rota {
namespace {

inline __m128i load16(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline __m256i load32(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline __m512i load64(const void* p) { return _mm512_loadu_si512(p); }
inline __m512i load_quarters(const void* a, const void* b, const void* c, const void* d) {
  __m512i out = _mm512_castsi128_si512(load16(a));
  out = _mm512_mask_broadcast_i32x4(out, 0x00f0, load16(b));
  out = _mm512_mask_broadcast_i32x4(out, 0x0f00, load16(c));
  return _mm512_mask_broadcast_i32x4(out, 0xf000, load16(d));
}
inline __m128i spread_half(const uint8_t* p) {
  int16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return _mm_set1_epi16(bits);
}
inline __m128i two_halves(const uint8_t* a, const uint8_t* b) {
  return _mm_unpacklo_epi64(spread_half(a), spread_half(b));
}
inline __m512 to_floats(__m128i low, __m128i high) {
  return _mm512_cvtph_ps(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1));
}

struct SixteenLanes {
  __m512 v;
};

float reduce_sixteen(const SixteenLanes& acc) {
  const __m256 eight =
      _mm256_add_ps(_mm512_castps512_ps256(acc.v), _mm512_extractf32x8_ps(acc.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline void close(SixteenLanes& acc, __m512 t, float scale) {
  acc.v = _mm512_fmadd_ps(t, _mm512_set1_ps(scale), acc.v);
}
inline __m512 scaled(__m512i sums, __m512 d) { return _mm512_mul_ps(_mm512_cvtepi32_ps(sums), d); }

// What every format does alike: a chunk for one row is its decoding and its use.
template <class Format>
struct Variant : Format {
  using Lanes = SixteenLanes;
  static inline float reduce(const Lanes& acc) { return reduce_sixteen(acc); }
  static inline void one(const uint8_t* p, const typename Format::Chunk& x, Lanes& acc) {
    typename Format::Weights w;
    Format::decode(p, w);
    Format::apply(w, x, acc);
  }
};

struct Q8_0 {
  static constexpr size_t kBytes = 8 * 34;
  using Chunk = PairsChunk;
  struct Weights {
    __m512i first[4], second[4];  // halves of two blocks
    __m512 d[4];
  };
  static inline void decode(const uint8_t* p, Weights& w) {
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; ++v, p += 68) {
      const auto words = [](const uint8_t* a, const uint8_t* b) {
        return _mm512_cvtepi8_epi16(
            _mm256_inserti128_si256(_mm256_castsi128_si256(load16(a)), load16(b), 1));
      };
      w.first[v] = words(p + 2, p + 36);
      w.second[v] = words(p + 18, p + 52);
      w.d[v] = to_floats(spread_half(p), spread_half(p + 34));
    }
  }
  static inline void apply(const Weights& w, const Chunk& x, SixteenLanes& acc) {
    __m512 t = _mm512_setzero_ps();
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; ++v) {
      const __m512i half =
          _mm512_dpwssd_epi32(_mm512_setzero_si512(), w.first[v], load64(x.x + 64 * v));
      const __m512i sums = _mm512_dpwssd_epi32(half, w.second[v], load64(x.x + 64 * v + 32));
      t = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), w.d[v], t);
    }
    close(acc, t, x.scale);
  }
};

// Planes of unsigned codes times both bytes of the activations.
template <int kPlanes, class Chunk>
inline __m512i split_sums(const __m512i* planes, const Chunk& x) {
  __m512i hi = _mm512_setzero_si512(), lo = load64(x.offset);
#pragma GCC unroll 8
  for (size_t s = 0; s < kPlanes; ++s) {
    hi = _mm512_dpbusd_epi32(hi, planes[s], load64(x.hi + 64 * s));
    lo = _mm512_dpbusd_epi32(lo, planes[s], load64(x.lo + 64 * s));
  }
  return _mm512_add_epi32(_mm512_slli_epi32(hi, 8), lo);
}

struct Q2_0 {
  static constexpr size_t kBytes = 4 * 18;
  using Chunk = QuartersChunk;
  struct Weights {
    __m512i plane[4];
    __m512 d;
  };
  static inline void decode(const uint8_t* p, Weights& w) {
    const __m512i packed = load_quarters(p + 2, p + 20, p + 38, p + 56);
#pragma GCC unroll 4
    for (unsigned s = 0; s < 4; ++s)
      w.plane[s] = _mm512_and_si512(_mm512_srli_epi16(packed, 2 * s), _mm512_set1_epi8(3));
    w.d = to_floats(two_halves(p, p + 18), two_halves(p + 36, p + 54));
  }
  static inline void apply(const Weights& w, const Chunk& x, SixteenLanes& acc) {
    close(acc, scaled(split_sums<4>(w.plane, x), w.d), x.scale);
  }
};

struct PTQ1_0 {
  static constexpr size_t kBytes = 2 * 28;
  using Chunk = TritsChunk;
  struct Weights {
    __m512i digit[5];
    __m512 d;
  };
  // A digit is 3 * byte / 256, that is (byte > 85) + (byte > 170); then the byte is tripled.
  static inline void decode(const uint8_t* p, Weights& w) {
    __m512i bytes = load_quarters(p, p + 28, p + 12, p + 40);
    const __m512i one_each = _mm512_set1_epi8(1);
#pragma GCC unroll 5
    for (int n = 0; n < 5; ++n) {
      const __mmask64 some = _mm512_cmpgt_epu8_mask(bytes, _mm512_set1_epi8(85));
      const __mmask64 two = _mm512_cmpgt_epu8_mask(bytes, _mm512_set1_epi8(static_cast<char>(170)));
      const __m512i least = _mm512_maskz_mov_epi8(some, one_each);
      w.digit[n] = _mm512_mask_add_epi8(least, two, least, one_each);
      bytes = _mm512_add_epi8(_mm512_add_epi8(bytes, bytes), bytes);
    }
    const __m128i d = two_halves(p + 26, p + 54);
    w.d = to_floats(d, d);
  }
  static inline void apply(const Weights& w, const Chunk& x, SixteenLanes& acc) {
    close(acc, scaled(split_sums<5>(w.digit, x), w.d), x.scale);
  }
};

struct Q3_K {
  static constexpr size_t kBytes = 110;
  using Chunk = NaturalChunk;
  struct Weights {
    __m512i code[4], scale[4];  // of 64 weights; their four scales, eight words each
    __m256i scales;             // even ones first
    __m512 d;
  };
  // Sixteen six-bit scales minus 32: low nibbles from bytes 0..7, top bits from bytes 8..11.
  static inline __m128i unpack_scales(const uint8_t* p) {
    uint32_t a, b, top;
    std::memcpy(&a, p, 4);
    std::memcpy(&b, p + 4, 4);
    std::memcpy(&top, p + 8, 4);
    const auto pair = [](uint32_t first, uint32_t second) {
      return static_cast<int64_t>(first | static_cast<uint64_t>(second) << 32);
    };
    const __m128i stored =
        _mm_set_epi64x(pair(((a >> 4) & 0x0f0f0f0fu) | (((top >> 4) & 0x03030303u) << 4),
                            ((b >> 4) & 0x0f0f0f0fu) | (((top >> 6) & 0x03030303u) << 4)),
                       pair((a & 0x0f0f0f0fu) | ((top & 0x03030303u) << 4),
                            (b & 0x0f0f0f0fu) | (((top >> 2) & 0x03030303u) << 4)));
    return _mm_sub_epi8(stored, _mm_set1_epi8(32));
  }
  // Words that differ between the lower and the upper half.
  static inline __m512i halves(int low, int high) {
    return _mm512_inserti64x4(_mm512_set1_epi16(static_cast<int16_t>(low)),
                              _mm256_set1_epi16(static_cast<int16_t>(high)), 1);
  }
  static inline void decode(const uint8_t* p, Weights& w) {
    const __m128i natural = unpack_scales(p + 96);
    w.scales = _mm256_cvtepi8_epi16(_mm_shuffle_epi8(
        natural, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15)));
    // Quarter q of a register meets sub-blocks q, 4 + q, 8 + q, 12 + q: their scales are its words
    // 0..3.
    const __m512i by_quarter = _mm512_cvtepi8_epi16(
        _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(natural),
                            _mm256_setr_epi8(0, 4, 8, 12, 0, 4, 8, 12, 1, 5, 9, 13, 1, 5, 9, 13, 2,
                                             6, 10, 14, 2, 6, 10, 14, 3, 7, 11, 15, 3, 7, 11, 15)));
    const __m512i high = _mm512_broadcast_i64x4(load32(p));
#pragma GCC unroll 4
    for (int g = 0; g < 4; ++g) {
      const int shift = 4 * (g % 2);
      const __m512i packed = _mm512_broadcast_i64x4(load32(p + 32 + 32 * (g / 2)));
      const __m512i low = _mm512_and_si512(_mm512_srlv_epi16(packed, halves(shift, shift + 2)),
                                           _mm512_set1_epi8(3));
      const __m512i bit = g == 0 ? _mm512_sllv_epi16(high, halves(2, 1))
                                 : _mm512_srlv_epi16(high, halves(2 * g - 2, 2 * g - 1));
      w.code[g] = _mm512_ternarylogic_epi32(bit, _mm512_set1_epi8(4), low, 0xea);  // bit & 4 | low
      const auto word = static_cast<int16_t>(2 * g + 256 * (2 * g + 1));
      w.scale[g] = _mm512_shuffle_epi8(by_quarter, _mm512_set1_epi16(word));
    }
    const __m128i d = spread_half(p + 108);
    w.d = to_floats(d, d);
  }
  static inline void apply(const Weights& w, const Chunk& x, SixteenLanes& acc) {
    const __m256i start =
        _mm256_add_epi32(_mm256_madd_epi16(_mm256_slli_epi16(w.scales, 8), load32(x.hi_sums)),
                         _mm256_madd_epi16(w.scales, load32(x.lo_sums)));
    __m512i hi = _mm512_zextsi256_si512(start), lo = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (size_t g = 0; g < 4; ++g) {
      hi = _mm512_dpwssd_epi32(hi, _mm512_maddubs_epi16(w.code[g], load64(x.hi + 64 * g)),
                               _mm512_slli_epi16(w.scale[g], 8));
      lo = _mm512_dpwssd_epi32(lo, _mm512_maddubs_epi16(w.code[g], load64(x.lo + 64 * g)),
                               w.scale[g]);
    }
    close(acc, scaled(_mm512_add_epi32(hi, lo), w.d), x.scale);
  }
};

}  // namespace

void matvec_int_avx512(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                       const void* const* x, int rows, float* const* y) {
  const uint8_t* bytes = static_cast<const uint8_t*>(w);
  switch (f) {
    case Format::kQ8_0:
      return MatvecIntTiles<Variant<Q8_0>>::run(bytes, k / 32 * 34, out_begin, out_end, k, x, rows,
                                                y);
    case Format::kQ2_0:
      return MatvecIntTiles<Variant<Q2_0>>::run(bytes, k / 64 * 18, out_begin, out_end, k, x, rows,
                                                y);
    case Format::kQ3_K:
      return MatvecIntTiles<Variant<Q3_K>>::run(bytes, k / 256 * 110, out_begin, out_end, k, x,
                                                rows, y);
    case Format::kPTQ1_0:
      return MatvecIntTiles<Variant<PTQ1_0>>::run(bytes, k / 128 * 28, out_begin, out_end, k, x,
                                                  rows, y);
    default:
      return;  // the format has no layout of activations: its rows never come here
  }
}

}  // namespace rota
