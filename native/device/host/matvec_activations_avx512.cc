// The AVX-512 variant of the activations' rounding: a whole chunk in registers, moved into a layout
// by byte permutations. The bits are the portable variant's.
#include "device/host/matvec_int_avx512.h"

namespace rota {
namespace {

// For each 64 positions of a layout: the value they take (of 256).
struct Places {
  alignas(64) uint8_t from[4][64];
};

Places places_of(RowLayout layout) {
  Places out{};
  const int16_t* order = chunk_order(layout);
  for (size_t p = 0; p < chunk_positions(layout); ++p) {
    out.from[p / 64][p % 64] = static_cast<uint8_t>(order[p]);
  }
  return out;
}

// The upper and the lower bytes of a chunk's values, as they come.
struct Bytes {
  __m512i hi[4], lo[4];
};

inline __m512i moved(const __m512i* source, __m512i from) {
  const __m512i low = _mm512_permutex2var_epi8(source[0], from, source[1]);
  const __m512i high = _mm512_permutex2var_epi8(source[2], from, source[3]);
  return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(from), high);
}

inline __m512i sums_of_four(__m512i start, __m512i bytes) {
  return _mm512_dpbusd_epi32(start, _mm512_set1_epi8(1), bytes);
}

// -factor * (256 * hi + lo)
inline void store_offset(__m512i hi, __m512i lo, int factor, int32_t* out) {
  const __m512i both = _mm512_add_epi32(_mm512_slli_epi32(hi, 8), lo);
  _mm512_storeu_si512(out, _mm512_mullo_epi32(both, _mm512_set1_epi32(-factor)));
}

// `groups` runs of positions with offsets of their own.
template <class Chunk>
void lay_out(const Bytes& in, const Places& places, size_t groups, int factor, int32_t* offset,
             Chunk& out) {
  const size_t planes = Chunk::kPositions / 64, per_group = planes / groups;
  for (size_t g = 0; g < groups; ++g) {
    __m512i hi_sum = _mm512_setzero_si512(), lo_sum = hi_sum;
    for (size_t s = g * per_group; s < (g + 1) * per_group; ++s) {
      const __m512i from = load64(places.from[s]);
      const __m512i hi = moved(in.hi, from);
      const __m512i lo = moved(in.lo, from);
      _mm512_storeu_si512(out.hi + 64 * s, hi);
      _mm512_storeu_si512(out.lo + 64 * s, lo);
      hi_sum = sums_of_four(hi_sum, hi);
      lo_sum = sums_of_four(lo_sum, lo);
    }
    store_offset(hi_sum, lo_sum, factor, offset + g * kIntLanes);
  }
}

// 64 values as they come: two steps of half s / 2.
inline void store_steps(__m512i values, size_t s, int8_t* to) {
  int8_t* at = to + s % 2 * 128 + s / 2 * 32;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), _mm512_castsi512_si256(values));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(at + 64), _mm512_extracti64x4_epi64(values, 1));
}

void lay_out_steps(const Bytes& in, StepsChunk& out) {
  int32_t hi[4][16], lo[4][16];  // sums of four values
  for (size_t s = 0; s < 4; ++s) {
    store_steps(in.hi[s], s, out.hi);
    store_steps(in.lo[s], s, out.lo);
    _mm512_storeu_si512(hi[s], sums_of_four(_mm512_setzero_si512(), in.hi[s]));
    _mm512_storeu_si512(lo[s], sums_of_four(_mm512_setzero_si512(), in.lo[s]));
  }
  out.offset = 0;
  for (size_t part = 0; part < 16; ++part) {
    const int32_t *h = hi[part / 4] + part % 4 * 4, *l = lo[part / 4] + part % 4 * 4;
    const int hi_sum = h[0] + h[1] + h[2] + h[3], lo_sum = l[0] + l[1] + l[2] + l[3];
    const size_t at = part / 2 + part % 2 * 8;
    out.hi_sums[at] = static_cast<int16_t>(-4 * hi_sum);
    out.lo_sums[at] = static_cast<int16_t>(-4 * lo_sum);
    out.offset -= 124 * (256 * hi_sum + lo_sum);
  }
}

// A register's four quarters, of a block's values each four steps of sixteen.
inline void store_trits(const __m512i* values, int8_t* to) {
  alignas(64) int8_t from[kIntChunk];
  for (size_t s = 0; s < 4; ++s) _mm512_store_si512(from + 64 * s, values[s]);
  for (size_t i = 0; i < 16; ++i) {
    const __m128i some = _mm_load_si128(reinterpret_cast<const __m128i*>(from + 16 * i));
    _mm_store_si128(reinterpret_cast<__m128i*>(to + i % 8 * 64 + i / 8 * 16), some);
  }
}

void lay_out_trits(const Bytes& in, float scale, size_t half, TritsChunk& out) {
  store_trits(in.hi, out.hi + 32 * half);
  store_trits(in.lo, out.lo + 32 * half);
  for (size_t b = 0; b < 2; ++b) {
    const __m512i none = _mm512_setzero_si512();
    const __m512i hi = sums_of_four(sums_of_four(none, in.hi[2 * b]), in.hi[2 * b + 1]);
    const __m512i lo = sums_of_four(sums_of_four(none, in.lo[2 * b]), in.lo[2 * b + 1]);
    const __m128i all = _mm_add_epi32(_mm_slli_epi32(add_quarters(hi), 8), add_quarters(lo));
    _mm_store_si128(reinterpret_cast<__m128i*>(out.offset + 8 * half + 4 * b),
                    _mm_sub_epi32(_mm_setzero_si128(), all));
  }
  _mm256_store_ps(out.scale + 8 * half, _mm256_set1_ps(scale));
}

inline __m512i rounded(const float* x, __m512 factor) {
  return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), factor));
}

// Sixteen words at a time: the layout moves first and second halves of blocks of 32.
void lay_out_pairs(const float* x, __m512 factor, PairsChunk& out) {
  for (size_t v = 0; v < 4; ++v) {
    constexpr size_t kTo[4] = {0, 32, 16, 48};
    for (size_t i = 0; i < 4; ++i) {
      const __m256i words = _mm512_cvtepi32_epi16(rounded(x + 64 * v + 16 * i, factor));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.x + 64 * v + kTo[i]), words);
    }
  }
}

Bytes split(const float* x, __m512 factor) {
  Bytes out;
  alignas(64) int8_t hi[kIntChunk], lo[kIntChunk];
  for (size_t i = 0; i < kIntChunk; i += 16) {
    const __m512i q = rounded(x + i, factor);
    const __m512i upper = _mm512_srai_epi32(_mm512_add_epi32(q, _mm512_set1_epi32(128)), 8);
    _mm_store_si128(reinterpret_cast<__m128i*>(hi + i), _mm512_cvtepi32_epi8(upper));
    _mm_store_si128(reinterpret_cast<__m128i*>(lo + i), _mm512_cvtepi32_epi8(q));
  }
  for (size_t s = 0; s < 4; ++s) {
    out.hi[s] = load64(hi + 64 * s);
    out.lo[s] = load64(lo + 64 * s);
  }
  return out;
}

}  // namespace

uint32_t chunk_magnitude_avx512(const float* x) {
  __m512i largest = _mm512_setzero_si512();
  for (size_t i = 0; i < kIntChunk; i += 16) {
    const __m512i bits = _mm512_and_si512(load64(x + i), _mm512_set1_epi32(0x7fffffff));
    largest = _mm512_max_epu32(largest, bits);
  }
  return _mm512_reduce_max_epu32(largest);
}

void round_chunk_avx512(RowLayout layout, const float* x, float factor, float scale, size_t c,
                        void* row) {
  static const Places kQuarters = places_of(RowLayout::kQuarters);
  static const Places kNibbles = places_of(RowLayout::kNibbles);
  const __m512 factors = _mm512_set1_ps(factor);
  if (layout == RowLayout::kPairs) {
    auto& out = static_cast<PairsChunk*>(row)[c];
    lay_out_pairs(x, factors, out);
    out.scale = scale;
  } else if (layout == RowLayout::kQuarters) {
    auto& out = static_cast<QuartersChunk*>(row)[c];
    lay_out(split(x, factors), kQuarters, 1, 1, out.offset, out);
    out.scale = scale;
  } else if (layout == RowLayout::kTrits) {
    lay_out_trits(split(x, factors), scale, c % 2, static_cast<TritsChunk*>(row)[c / 2]);
  } else if (layout == RowLayout::kNibbles) {
    auto& out = static_cast<NibblesChunk*>(row)[c];
    lay_out(split(x, factors), kNibbles, 2, 12, out.offset[0], out);
    out.scale = scale;
  } else {
    auto& out = static_cast<StepsChunk*>(row)[c];
    lay_out_steps(split(x, factors), out);
    out.scale = scale;
  }
}

}  // namespace rota
