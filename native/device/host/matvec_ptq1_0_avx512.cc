// PTQ1_0 for the AVX-512 variant: digits are looked up, four at once. Bit layout:
// native/formats/README.md.
#include <array>

#include "device/host/matvec_int_avx512.h"

namespace rota {
namespace {

// By byte: its first four digits, two bits each, and its fifth.
using Table = std::array<uint8_t, 256>;
constexpr uint8_t digit(uint32_t byte, uint32_t power) {
  return static_cast<uint8_t>(((byte * power & 255u) * 3u) >> 8);
}
constexpr Table four_digits() {
  Table table{};
  for (uint32_t b = 0; b < 256; ++b) {
    table[b] =
        static_cast<uint8_t>(digit(b, 1) | digit(b, 3) << 2 | digit(b, 9) << 4 | digit(b, 27) << 6);
  }
  return table;
}
constexpr Table fifth_digit() {
  Table table{};
  for (uint32_t b = 0; b < 256; ++b) table[b] = digit(b, 81);
  return table;
}
alignas(64) constexpr Table kFour = four_digits(), kFifth = fifth_digit();

struct PTQ1_0 : KeepsSixteenLanes {
  static constexpr size_t kBytes = 4 * 28;
  static constexpr int kStreams = 2, kOutputs = 4;
  static constexpr bool kDecodesAhead = false;
  using Chunk = TritsChunk;
  struct Weights {
    __m512i plane[8];  // sixteen values of each of four blocks
    __m512 d;
  };

  static inline __m512i look_up(const Table& table, __m512i bytes, __mmask64 upper) {
    const auto half = [&](size_t at) {
      return _mm512_permutex2var_epi8(load64(table.data() + at), bytes,
                                      load64(table.data() + at + 64));
    };
    return _mm512_mask_mov_epi8(half(0), upper, half(128));
  }
  // Two-bit fields of every byte: one field in the lower halves of quarters, another in the upper.
  template <int kLow, int kHigh>
  static inline __m512i two_fields(__m512i bytes) {
    const __m128i matrix = _mm_set_epi64x(field(kHigh, 2, 0), field(kLow, 2, 0));
    return _mm512_gf2p8affine_epi64_epi8(bytes, _mm512_broadcast_i32x4(matrix), 0);
  }
  static inline void decode(const uint8_t* p, Weights& w) {
    // Words of four bytes of two loads, of bytes 0..63 and 48..111: bytes 0..15 of each block, and
    // 16..31, of which the last four belong to nobody.
    alignas(64) static constexpr int32_t kFirst[16] = {0,  1,  2,  3,  7,  8,  9,  10,
                                                       18, 19, 20, 21, 25, 26, 27, 28};
    alignas(64) static constexpr int32_t kLast[16] = {4,  5,  6,  7,  11, 12, 13, 14,
                                                      22, 23, 24, 25, 29, 30, 31, 31};
    alignas(64) static constexpr int16_t kScales[32] = {5,  5,  5,  5,  13, 13, 13, 13,
                                                        21, 21, 21, 21, 29, 29, 29, 29};
    const __m512i low = load64(p), high = load64(p + 48);
    const __m512i first = _mm512_permutex2var_epi32(low, load64(kFirst), high);
    const __m512i last = _mm512_permutex2var_epi32(low, load64(kLast), high);
    const __mmask64 upper = _mm512_movepi8_mask(first);
    const __m512i four = look_up(kFour, first, upper);
    w.plane[0] = _mm512_and_si512(four, _mm512_set1_epi8(3));
    w.plane[1] = two_bits<2>(four);
    w.plane[2] = two_bits<4>(four);
    w.plane[3] = two_bits<6>(four);
    w.plane[4] = look_up(kFifth, first, upper);
    // Bytes 16..23 have two digits a plane, then their fifth beside four digits of 24 and 25.
    const __mmask64 upper_last = _mm512_movepi8_mask(last);
    const __m512i four_last = look_up(kFour, last, upper_last);
    const __m512i twice = _mm512_unpacklo_epi64(four_last, four_last);
    w.plane[5] = two_fields<0, 2>(twice);
    w.plane[6] = two_fields<4, 6>(twice);
    const __m512i mixed =
        _mm512_mask_mov_epi8(look_up(kFifth, last, upper_last), 0xff00ff00ff00ff00u, four_last);
    const __m512i starts =
        _mm512_broadcast_i32x4(_mm_set_epi64x(0x0e060c040a020800, 0x3830282018100800));
    w.plane[7] = _mm512_and_si512(_mm512_multishift_epi64_epi8(starts, mixed), _mm512_set1_epi8(3));
    w.d = _mm512_cvtph_ps(_mm512_castsi512_si256(_mm512_permutexvar_epi16(load64(kScales), last)));
  }
  template <int kN>
  static inline void apply(const Weights* w, const Chunk& x, Lanes<kN>& acc) {
    __m512i sums[kN];
    split_sums<8, kN>(w, x, load64(x.offset), sums);
    close<kN>(w, sums, _mm512_load_ps(x.scale), acc);
  }
};

}  // namespace

void matvec_ptq1_0_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                          const void* const* x, int rows, float* const* y) {
  MatvecIntTiles<Variant<PTQ1_0>>::run(w, k / 128 * 28, out_begin, out_end, k, x, rows, y);
}

}  // namespace rota
