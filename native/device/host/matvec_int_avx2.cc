// The AVX2 variant of the integer kernel: unsigned codes times signed bytes of the activations
// (VPMADDUBSW), upper and lower bytes apart. Bit layouts: native/formats/README.md.
#include "device/host/matvec_int_avx2.h"

#include "device/host/matvec_int_kernels.h"

namespace rota {
namespace {

struct Q8_0 {
  static constexpr size_t kBytes = 8 * 34;
  using Chunk = PairsChunk;
  using Lanes = SixteenLanes;
  static constexpr int kStreams = 1, kOutputs = 4;
  static inline float reduce(const Lanes& acc) { return reduce_sixteen(acc); }

  struct Weights {
    __m256i q[8][2];
    __m256 d[8];
  };
  static inline void decode(const uint8_t* p, Weights& w) {
    for (size_t b = 0; b < 8; ++b) {
      w.d[b] = scale_of(p + 34 * b);
      w.q[b][0] = _mm256_cvtepi8_epi16(load16(p + 34 * b + 2));
      w.q[b][1] = _mm256_cvtepi8_epi16(load16(p + 34 * b + 18));
    }
  }
  static inline __m256 sum(size_t b, __m256i first, __m256i second, const Chunk& x) {
    const int16_t* in = x.x + b / 2 * 64 + b % 2 * 16;
    return _mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_madd_epi16(first, load32(in)),
                                               _mm256_madd_epi16(second, load32(in + 32))));
  }
  static inline void apply(const Weights& w, const Chunk& x, Lanes& acc) {
    __m256 t[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
#pragma GCC unroll 8
    for (size_t b = 0; b < 8; ++b)
      t[b % 2] = _mm256_fmadd_ps(sum(b, w.q[b][0], w.q[b][1], x), w.d[b], t[b % 2]);
    close(acc.half[0], t[0], x.scale);
    close(acc.half[1], t[1], x.scale);
  }
  static inline void one(const uint8_t* p, const Chunk& x, Lanes& acc) {
    __m256 t[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
#pragma GCC unroll 8
    for (size_t b = 0; b < 8; ++b, p += 34) {
      t[b % 2] = _mm256_fmadd_ps(
          sum(b, _mm256_cvtepi8_epi16(load16(p + 2)), _mm256_cvtepi8_epi16(load16(p + 18)), x),
          scale_of(p), t[b % 2]);
    }
    close(acc.half[0], t[0], x.scale);
    close(acc.half[1], t[1], x.scale);
  }
};

struct Q2_0 {
  static constexpr size_t kBytes = 4 * 18;
  using Chunk = QuartersChunk;
  using Lanes = SixteenLanes;
  static constexpr int kStreams = 1, kOutputs = 4;
  static inline float reduce(const Lanes& acc) { return reduce_sixteen(acc); }

  struct Half {  // two blocks
    __m256i plane[4];
    __m256 d;
  };
  struct Weights {
    Half half[2];
  };
  static inline void decode_half(const uint8_t* p, Half& w) {
    const __m256i packed = load_halves(p + 2, p + 20), three = _mm256_set1_epi8(3);
#pragma GCC unroll 4
    for (int s = 0; s < 4; ++s)
      w.plane[s] = _mm256_and_si256(_mm256_srli_epi16(packed, 2 * s), three);
    w.d = scales_of(p, p + 18);
  }
  // At most 4 planes * 2 products of 3 * 128 in 16 bits.
  static inline void apply_half(const Half& w, const Chunk& x, size_t h, Lanes& acc) {
    const int8_t *hi_at = x.hi + 32 * h, *lo_at = x.lo + 32 * h;
    __m256i hi[4], lo[4];
#pragma GCC unroll 4
    for (size_t s = 0; s < 4; ++s) {
      hi[s] = _mm256_maddubs_epi16(w.plane[s], load32(hi_at + 64 * s));
      lo[s] = _mm256_maddubs_epi16(w.plane[s], load32(lo_at + 64 * s));
    }
    const __m256i sums =
        join(_mm256_add_epi16(_mm256_add_epi16(hi[0], hi[1]), _mm256_add_epi16(hi[2], hi[3])),
             _mm256_add_epi16(_mm256_add_epi16(lo[0], lo[1]), _mm256_add_epi16(lo[2], lo[3])),
             load32(x.offset + 8 * h));
    close(acc.half[h], _mm256_mul_ps(_mm256_cvtepi32_ps(sums), w.d), x.scale);
  }
  static inline void decode(const uint8_t* p, Weights& w) {
    decode_half(p, w.half[0]);
    decode_half(p + 36, w.half[1]);
  }
  static inline void apply(const Weights& w, const Chunk& x, Lanes& acc) {
    apply_half(w.half[0], x, 0, acc);
    apply_half(w.half[1], x, 1, acc);
  }
  static inline void one(const uint8_t* p, const Chunk& x, Lanes& acc) {
    Half w;
    decode_half(p, w);
    apply_half(w, x, 0, acc);
    decode_half(p + 36, w);
    apply_half(w, x, 1, acc);
  }
};

}  // namespace

void matvec_int_avx2(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
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
      return matvec_q3_k_avx2(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kQ2_K:
      return matvec_q2_k_avx2(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kMXFP4:
      return matvec_mxfp4_avx2(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kPTQ1_0:
      return matvec_ptq1_0_avx2(bytes, out_begin, out_end, k, x, rows, y);
    default:
      return;  // the format has no layout of activations: its rows never come here
  }
}

}  // namespace rota
