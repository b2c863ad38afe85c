// PTQ1_0 for the AVX-512 variant: digits are looked up, four at once. Bit layout:
// native/formats/README.md.
#include <array>

#include "device/host/matvec_int_avx512.h"

namespace rota {
namespace {

struct PTQ1_0 : KeepsSixteenLanes {
  static constexpr size_t kBytes = 2 * 28;
  static constexpr int kStreams = 2, kOutputs = 4;
  static constexpr bool kDecodesAhead = false;
  using Chunk = TritsChunk;
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
  static inline void apply(const Weights* w, const Chunk& x, Lanes<kN>& acc) {
    __m512i sums[kN];
    split_sums<5, kN>(w, x, load64(x.offset), sums);
    close<kN>(w, sums, x.scale, acc);
  }
};

}  // namespace

void matvec_ptq1_0_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                          const void* const* x, int rows, float* const* y) {
  MatvecIntTiles<Variant<PTQ1_0>>::run(w, k / 128 * 28, out_begin, out_end, k, x, rows, y);
}

}  // namespace rota
