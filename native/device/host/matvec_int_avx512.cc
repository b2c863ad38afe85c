// The AVX-512 variant of the integer kernel: VNNI sums bytes and words straight into 32 bits, all
// 16 lanes in a register. The sums are those of the AVX2 variant. Bit layouts:
// native/formats/README.md.
#include "device/host/matvec_int_avx512.h"

#include <array>

#include "device/host/matvec_int_kernels.h"

namespace rota {
namespace {

// kN outputs' sums of a chunk into their lanes.
template <int kN, class Weights>
inline void close(const Weights* w, const __m512i* sums, float scale, SixteenLanes* acc) {
#pragma GCC unroll 4
  for (int i = 0; i < kN; ++i) {
    const __m512 t = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[i]), w[i].d);
    acc[i].v = _mm512_fmadd_ps(t, _mm512_set1_ps(scale), acc[i].v);
  }
}

struct Q8_0 {
  static constexpr size_t kBytes = 8 * 34;
  static constexpr int kStreams = 1, kOutputs = 2;
  using Chunk = PairsChunk;
  using Lanes = SixteenLanes;
  static inline float reduce(const Lanes& acc) { return reduce_sixteen(acc); }
  struct Weights {
    __m512i first[4], second[4];  // halves of two blocks
    __m512 d[4];
  };
  static inline __m256i halves(const uint8_t* a, const uint8_t* b) {
    const auto at = [](const uint8_t* p) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    };
    return _mm256_inserti128_si256(_mm256_castsi128_si256(at(a)), at(b), 1);
  }
  static inline void decode(const uint8_t* p, Weights& w) {
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; ++v, p += 68) {
      w.first[v] = _mm512_cvtepi8_epi16(halves(p + 2, p + 36));
      w.second[v] = _mm512_cvtepi8_epi16(halves(p + 18, p + 52));
      w.d[v] = _mm512_cvtph_ps(
          _mm256_inserti128_si256(_mm256_castsi128_si256(spread_half(p)), spread_half(p + 34), 1));
    }
  }
  template <int kN>
  static inline void apply(const Weights* w, const Chunk& x, Lanes* acc) {
    __m512 t[kN] = {};
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; ++v) {
      const __m512i first = held64(x.x + 64 * v), second = held64(x.x + 64 * v + 32);
#pragma GCC unroll 4
      for (int i = 0; i < kN; ++i) {
        const __m512i half = _mm512_dpwssd_epi32(_mm512_setzero_si512(), w[i].first[v], first);
        const __m512i sums = _mm512_dpwssd_epi32(half, w[i].second[v], second);
        t[i] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), w[i].d[v], t[i]);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kN; ++i)
      acc[i].v = _mm512_fmadd_ps(t[i], _mm512_set1_ps(x.scale), acc[i].v);
  }
};

struct Q2_0 {
  static constexpr size_t kBytes = 4 * 18;
  static constexpr int kStreams = 2, kOutputs = 4;
  using Chunk = QuartersChunk;
  using Lanes = SixteenLanes;
  static inline float reduce(const Lanes& acc) { return reduce_sixteen(acc); }
  struct Weights {
    __m512i plane[4];
    __m512 d;
  };
  // Two overlapping loads hold the chunk: words 1..8, 10..17, 19..26 of the first are codes and 0,
  // 9, 18, 27 scales; in the second the last block's codes lie where they belong.
  static inline void decode(const uint8_t* p, Weights& w) {
    alignas(64) static constexpr int16_t kCodes[32] = {1,  2,  3,  4,  5,  6,  7,  8,  10, 11, 12,
                                                       13, 14, 15, 16, 17, 19, 20, 21, 22, 23, 24,
                                                       25, 26, 0,  0,  0,  0,  0,  0,  0,  0};
    alignas(64) static constexpr int16_t kScales[32] = {0,  0,  0,  0,  9,  9,  9,  9,
                                                        18, 18, 18, 18, 27, 27, 27, 27};
    const __m512i first = held64(p), last = load64(p + 8);
    const __m512i packed = _mm512_mask_permutexvar_epi16(last, 0x00ffffff, load64(kCodes), first);
    w.plane[0] = _mm512_and_si512(packed, _mm512_set1_epi8(3));
    w.plane[1] = two_bits<2>(packed);
    w.plane[2] = two_bits<4>(packed);
    w.plane[3] = two_bits<6>(packed);
    w.d = _mm512_cvtph_ps(_mm512_castsi512_si256(_mm512_permutexvar_epi16(load64(kScales), first)));
  }
  template <int kN>
  static inline void apply(const Weights* w, const Chunk& x, Lanes* acc) {
    __m512i sums[kN];
    split_sums<4, kN>(w, x, load64(x.offset), sums);
    close<kN>(w, sums, x.scale, acc);
  }
};

struct PTQ1_0 {
  static constexpr size_t kBytes = 2 * 28;
  static constexpr int kStreams = 2, kOutputs = 4;
  using Chunk = TritsChunk;
  using Lanes = SixteenLanes;
  static inline float reduce(const Lanes& acc) { return reduce_sixteen(acc); }
  struct Weights {
    __m512i plane[5];
    __m512 d;
  };
  // By byte: its first four digits, two bits each, and its fifth.
  using Table = std::array<uint8_t, 256>;
  static constexpr uint8_t digit(uint32_t byte, uint32_t power) {
    return static_cast<uint8_t>(((byte * power & 255u) * 3u) >> 8);
  }
  static constexpr Table four_digits() {
    Table table{};
    for (uint32_t b = 0; b < 256; ++b) {
      table[b] = static_cast<uint8_t>(digit(b, 1) | digit(b, 3) << 2 | digit(b, 9) << 4 |
                                      digit(b, 27) << 6);
    }
    return table;
  }
  static constexpr Table fifth_digit() {
    Table table{};
    for (uint32_t b = 0; b < 256; ++b) table[b] = digit(b, 81);
    return table;
  }
  static inline __m512i look_up(const Table& table, __m512i bytes, __mmask64 upper) {
    const auto half = [&](size_t at) {
      return _mm512_permutex2var_epi8(load64(table.data() + at), bytes,
                                      load64(table.data() + at + 64));
    };
    return _mm512_mask_mov_epi8(half(0), upper, half(128));
  }
  // Both blocks' bytes 0..15, then both blocks' 12..27, of a register of bytes 0..31 and 24..55.
  static inline void decode(const uint8_t* p, Weights& w) {
    alignas(64) static constexpr Table kFour = four_digits();
    alignas(64) static constexpr Table kFifth = fifth_digit();
    alignas(64) static constexpr uint8_t kPlaces[64] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 28, 29, 30, 31, 40, 41,
        42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
        24, 25, 26, 27, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    alignas(64) static constexpr int16_t kScales[32] = {13, 13, 13, 13, 31, 31, 31, 31,
                                                        13, 13, 13, 13, 31, 31, 31, 31};
    const __m512i stored = _mm512_inserti64x4(_mm512_castsi256_si512(load32(p)), load32(p + 24), 1);
    const __m512i bytes = _mm512_permutexvar_epi8(load64(kPlaces), stored);
    const __mmask64 upper = _mm512_movepi8_mask(bytes);
    const __m512i four = look_up(kFour, bytes, upper);
    w.plane[0] = _mm512_and_si512(four, _mm512_set1_epi8(3));
    w.plane[1] = two_bits<2>(four);
    w.plane[2] = two_bits<4>(four);
    w.plane[3] = two_bits<6>(four);
    w.plane[4] = look_up(kFifth, bytes, upper);
    w.d =
        _mm512_cvtph_ps(_mm512_castsi512_si256(_mm512_permutexvar_epi16(load64(kScales), stored)));
  }
  template <int kN>
  static inline void apply(const Weights* w, const Chunk& x, Lanes* acc) {
    __m512i sums[kN];
    split_sums<5, kN>(w, x, load64(x.offset), sums);
    close<kN>(w, sums, x.scale, acc);
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
      return matvec_q3_k_avx512(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kQ2_K:
      return matvec_q2_k_avx512(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kMXFP4:
      return matvec_mxfp4_avx512(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kPTQ1_0:
      return MatvecIntTiles<Variant<PTQ1_0>>::run(bytes, k / 128 * 28, out_begin, out_end, k, x,
                                                  rows, y);
    default:
      return;  // the format has no layout of activations: its rows never come here
  }
}

}  // namespace rota
