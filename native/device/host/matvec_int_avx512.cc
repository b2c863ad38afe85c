// The AVX-512 variant of the integer kernel: VNNI sums bytes and words straight into 32 bits, all
// 16 lanes in a register. The sums are those of the AVX2 variant. Bit layouts:
// native/formats/README.md.
#include "device/host/matvec_int_avx512.h"

#include "device/host/matvec_int_kernels.h"

namespace rota {
namespace {

struct Q8_0 : KeepsSixteenLanes {
  static constexpr size_t kBytes = 8 * 34;
  static constexpr int kStreams = 1, kOutputs = 2;
  static constexpr bool kDecodesAhead = false;
  using Chunk = PairsChunk;
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
  static inline void apply(const Weights* w, const Chunk& x, Lanes<kN>& acc) {
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
      acc.of[i] = _mm512_fmadd_ps(t[i], _mm512_set1_ps(x.scale), acc.of[i]);
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
      return matvec_q2_0_avx512(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kQ3_K:
      return matvec_q3_k_avx512(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kQ2_K:
      return matvec_q2_k_avx512(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kMXFP4:
      return matvec_mxfp4_avx512(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kPTQ1_0:
      return matvec_ptq1_0_avx512(bytes, out_begin, out_end, k, x, rows, y);
    default:
      return;  // the format has no layout of activations: its rows never come here
  }
}

}  // namespace rota
