// Q2_0 for the AVX-512 variant: four planes of two-bit codes. Bit layout: native/formats/README.md.
#include "device/host/matvec_int_avx512.h"

namespace rota {
namespace {

struct Q2_0 : KeepsSixteenLanes {
  static constexpr size_t kBytes = 4 * 18;
  static constexpr int kStreams = 2, kOutputs = 4;
  static constexpr bool kDecodesAhead = false;
  using Chunk = QuartersChunk;
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
  static inline void apply(const Weights* w, const Chunk& x, Lanes<kN>& acc) {
    __m512i sums[kN];
    split_sums<4, kN>(w, x, load64(x.offset), sums);
    close<kN>(w, sums, _mm512_set1_ps(x.scale), acc);
  }
};

}  // namespace

void matvec_q2_0_avx512(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                        const void* const* x, int rows, float* const* y) {
  MatvecIntTiles<Variant<Q2_0>>::run(w, k / 64 * 18, out_begin, out_end, k, x, rows, y);
}

}  // namespace rota
