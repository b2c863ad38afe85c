// MXFP4 for the AVX2 variant: twice the code's value plus 12 is an unsigned byte, looked up. Bit
// layout: native/formats/README.md.
#include "device/host/matvec_int_avx2.h"

namespace rota {
namespace {

struct MXFP4 {
  static constexpr size_t kBytes = 8 * 17;
  static constexpr int kStreams = 1, kOutputs = 2;
  using Chunk = NibblesChunk;
  using Lanes = SixteenLanes;
  static inline float reduce(const Lanes& acc) { return reduce_sixteen(acc); }
  struct Pair {  // two blocks: their first and second halves
    __m256i half[2];
    __m256 d;
  };
  struct Weights {
    Pair pair[4];
  };

  // 2^(e - 128) of four lanes each: e - 1 is the exponent's field, but for the smallest two, which
  // are subnormal, and for 255, which is a NaN.
  static inline float half_power(uint8_t e) {
    uint32_t bits = static_cast<uint32_t>(e - 1) << 23;
    if (e < 2) bits = 0x00200000u << e;
    if (e == 255) bits = 0x7fc00000u;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  static inline void decode_pair(const uint8_t* p, Pair& w) {
    const __m256i values =
        _mm256_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0, 12, 13, 14, 15,
                         16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0);
    const __m256i packed = load_halves(p + 1, p + 18), low = _mm256_set1_epi8(15);
    w.half[0] = _mm256_shuffle_epi8(values, _mm256_and_si256(packed, low));
    w.half[1] = _mm256_shuffle_epi8(values, _mm256_and_si256(_mm256_srli_epi16(packed, 4), low));
    w.d = _mm256_set_m128(_mm_set1_ps(half_power(p[17])), _mm_set1_ps(half_power(p[0])));
  }
  // At most 2 halves * 2 products of 24 * 128 in 16 bits.
  static inline __m256 apply_pair(const Pair& w, const Chunk& x, size_t v, __m256 t) {
    const size_t at = v / 2 * 128 + v % 2 * 32;
    const __m256i hi = _mm256_add_epi16(_mm256_maddubs_epi16(w.half[0], load32(x.hi + at)),
                                        _mm256_maddubs_epi16(w.half[1], load32(x.hi + at + 64)));
    const __m256i lo = _mm256_add_epi16(_mm256_maddubs_epi16(w.half[0], load32(x.lo + at)),
                                        _mm256_maddubs_epi16(w.half[1], load32(x.lo + at + 64)));
    const __m256i sums = join(hi, lo, load32(x.offset[v / 2] + v % 2 * 8));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), w.d, t);
  }
  static inline void decode(const uint8_t* p, Weights& w) {
    for (size_t v = 0; v < 4; ++v) decode_pair(p + 34 * v, w.pair[v]);
  }
  static inline void apply(const Weights& w, const Chunk& x, Lanes& acc) {
    __m256 t[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; ++v) t[v % 2] = apply_pair(w.pair[v], x, v, t[v % 2]);
    close(acc.half[0], t[0], x.scale);
    close(acc.half[1], t[1], x.scale);
  }
  static inline void one(const uint8_t* p, const Chunk& x, Lanes& acc) {
    __m256 t[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; ++v) {
      Pair pair;
      decode_pair(p + 34 * v, pair);
      t[v % 2] = apply_pair(pair, x, v, t[v % 2]);
    }
    close(acc.half[0], t[0], x.scale);
    close(acc.half[1], t[1], x.scale);
  }
};

}  // namespace

void matvec_mxfp4_avx2(const uint8_t* w, size_t out_begin, size_t out_end, size_t k,
                       const void* const* x, int rows, float* const* y) {
  MatvecIntTiles<Variant<MXFP4>>::run(w, k / 32 * 17, out_begin, out_end, k, x, rows, y);
}

}  // namespace rota
