// The block decoders of the AVX2 variant: every format is decoded exactly into registers, eight
// consecutive weights a vector. Private to matvec_avx2.cc. Bit layouts: native/formats/README.md.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "formats/numbers.h"
#include "formats/quants.h"

namespace rota::avx2 {

inline float half_at(const uint8_t* p) {
  uint16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return _cvtsh_ss(bits);
}
inline __m256 bytes_to_float(__m128i low_eight) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(low_eight));
}
inline __m128i load_eight(const uint8_t* p) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
}
inline __m128i load_sixteen(const uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

// A decoder has kWeights and kBytes of a block, and decode(block, emit) that calls emit(j, vector
// of weights 8j..8j+7).
struct F32 {
  static constexpr size_t kWeights = 8, kBytes = 32;
  template <typename Emit>
  static inline void decode(const uint8_t* p, Emit&& emit) {
    emit(0, _mm256_loadu_ps(reinterpret_cast<const float*>(p)));
  }
};

struct F16 {
  static constexpr size_t kWeights = 8, kBytes = 16;
  template <typename Emit>
  static inline void decode(const uint8_t* p, Emit&& emit) {
    emit(0, _mm256_cvtph_ps(load_sixteen(p)));
  }
};

struct BF16 {
  static constexpr size_t kWeights = 8, kBytes = 16;
  template <typename Emit>
  static inline void decode(const uint8_t* p, Emit&& emit) {
    emit(0, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_sixteen(p)), 16)));
  }
};

struct Q8_0 {
  static constexpr size_t kWeights = 32, kBytes = 34;
  template <typename Emit>
  static inline void decode(const uint8_t* p, Emit&& emit) {
    const __m256 d = _mm256_set1_ps(half_at(p));
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j)
      emit(j, _mm256_mul_ps(d, bytes_to_float(load_eight(p + 2 + 8 * j))));
  }
};

// Codes of two bits pick from a table in registers: VPERMILPS reads the low two bits of each lane
// and ignores the rest.
struct Q2_0 {
  static constexpr size_t kWeights = 64, kBytes = 18;
  template <typename Emit>
  static inline void decode(const uint8_t* p, Emit&& emit) {
    const float d = half_at(p);
    const __m256 values = _mm256_setr_ps(-d, 0, d, 2 * d, -d, 0, d, 2 * d);
    const __m256i low = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
    const __m256i high = _mm256_setr_epi32(16, 18, 20, 22, 24, 26, 28, 30);
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j) {
      int word;
      std::memcpy(&word, p + 2 + 4 * j, sizeof word);
      const __m256i sixteen = _mm256_set1_epi32(word);
      emit(2 * j, _mm256_permutevar_ps(values, _mm256_srlv_epi32(sixteen, low)));
      emit(2 * j + 1, _mm256_permutevar_ps(values, _mm256_srlv_epi32(sixteen, high)));
    }
  }
};

struct PTQ1_0 {
  static constexpr size_t kWeights = 128, kBytes = 28;
  template <typename Emit>
  static inline void decode(const uint8_t* p, Emit&& emit) {
    const float d = half_at(p + 26);
    const __m256 values = _mm256_setr_ps(-d, 0, d, 0, -d, 0, d, 0);
    const __m256i low_byte = _mm256_set1_epi16(255);
    __m256i sixteen = _mm256_cvtepu8_epi16(load_sixteen(p));
#pragma GCC unroll 5
    for (size_t n = 0; n < 5; ++n) {  // times three: the top digit falls out above the byte
      const __m256i tripled = _mm256_add_epi16(_mm256_add_epi16(sixteen, sixteen), sixteen);
      const __m256i digits = _mm256_srli_epi16(tripled, 8);
      emit(2 * n,
           _mm256_permutevar_ps(values, _mm256_cvtepi16_epi32(_mm256_castsi256_si128(digits))));
      emit(2 * n + 1, _mm256_permutevar_ps(
                          values, _mm256_cvtepi16_epi32(_mm256_extracti128_si256(digits, 1))));
      sixteen = _mm256_and_si256(tripled, low_byte);
    }
    const __m256i mask = _mm256_set1_epi32(255);
    __m256i eight = _mm256_cvtepu8_epi32(load_eight(p + 16));
#pragma GCC unroll 5
    for (size_t n = 0; n < 5; ++n) {
      const __m256i tripled = _mm256_add_epi32(_mm256_add_epi32(eight, eight), eight);
      emit(10 + n, _mm256_permutevar_ps(values, _mm256_srli_epi32(tripled, 8)));
      eight = _mm256_and_si256(tripled, mask);
    }
    const __m256i last = _mm256_setr_epi32(p[24], p[25], p[24], p[25], p[24], p[25], p[24], p[25]);
    const __m256i powers = _mm256_setr_epi32(1, 1, 3, 3, 9, 9, 27, 27);
    const __m256i digit = _mm256_and_si256(_mm256_mullo_epi32(last, powers), mask);
    const __m256i tripled = _mm256_add_epi32(_mm256_add_epi32(digit, digit), digit);
    emit(15, _mm256_permutevar_ps(values, _mm256_srli_epi32(tripled, 8)));
  }
};

struct Q3_K {
  static constexpr size_t kWeights = 256, kBytes = 110;
  // Sixteen six-bit scales minus 32: low nibbles from bytes 0..7, top bits from bytes 8..11.
  static inline void unpack_scales(const uint8_t* s, int8_t* out) {
    uint32_t a, b, top;
    std::memcpy(&a, s, 4);
    std::memcpy(&b, s + 4, 4);
    std::memcpy(&top, s + 8, 4);
    const uint32_t packed[4] = {(a & 0x0f0f0f0fu) | ((top & 0x03030303u) << 4),
                                (b & 0x0f0f0f0fu) | (((top >> 2) & 0x03030303u) << 4),
                                ((a >> 4) & 0x0f0f0f0fu) | (((top >> 4) & 0x03030303u) << 4),
                                ((b >> 4) & 0x0f0f0f0fu) | (((top >> 6) & 0x03030303u) << 4)};
    std::memcpy(out, packed, 16);
    for (int k = 0; k < 16; ++k) out[k] = static_cast<int8_t>(out[k] - 32);
  }
  template <typename Emit>
  static inline void decode(const uint8_t* p, Emit&& emit) {
    int8_t scales[16];
    unpack_scales(p + 96, scales);
    const float d = half_at(p + 108);
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i three = _mm256_set1_epi8(3), four = _mm256_set1_epi8(4);
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) {  // groups of 32: half g / 4, shift 2 * (g % 4)
      const __m256i qs =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32 + 32 * (g / 4)));
      const __m256i low = _mm256_and_si256(_mm256_srli_epi16(qs, 2 * (g % 4)), three);
      const __m256i bit = _mm256_set1_epi8(static_cast<char>(1 << g));
      const __m256i clear = _mm256_cmpeq_epi8(_mm256_and_si256(high, bit), _mm256_setzero_si256());
      const __m256i q = _mm256_sub_epi8(low, _mm256_and_si256(clear, four));
      const __m128i lo = _mm256_castsi256_si128(q), hi = _mm256_extracti128_si256(q, 1);
      const __m256 s0 = _mm256_set1_ps(d * static_cast<float>(scales[2 * g]));
      const __m256 s1 = _mm256_set1_ps(d * static_cast<float>(scales[2 * g + 1]));
      const size_t j = static_cast<size_t>(4 * g);
      emit(j, _mm256_mul_ps(s0, bytes_to_float(lo)));
      emit(j + 1, _mm256_mul_ps(s0, bytes_to_float(_mm_srli_si128(lo, 8))));
      emit(j + 2, _mm256_mul_ps(s1, bytes_to_float(hi)));
      emit(j + 3, _mm256_mul_ps(s1, bytes_to_float(_mm_srli_si128(hi, 8))));
    }
  }
};

struct Q2_K {
  static constexpr size_t kWeights = 256, kBytes = 84;
  template <typename Emit>
  static inline void decode(const uint8_t* p, Emit&& emit) {
    const float d = half_at(p + 80), dmin = half_at(p + 82);
    const __m256i three = _mm256_set1_epi8(3);
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) {  // groups of 32: half g / 4, shift 2 * (g % 4)
      const __m256i qs =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 16 + 32 * (g / 4)));
      const __m256i q = _mm256_and_si256(_mm256_srli_epi16(qs, 2 * (g % 4)), three);
      const __m128i halves[2] = {_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1)};
#pragma GCC unroll 2
      for (int h = 0; h < 2; ++h) {
        // Both products are exact, so fusing the difference rounds as often as not fusing it: once.
        const uint8_t scale = p[2 * g + h];
        const __m256 step = _mm256_set1_ps(d * static_cast<float>(scale & 15));
        const __m256 offset = _mm256_set1_ps(dmin * static_cast<float>(scale >> 4));
        const size_t j = static_cast<size_t>(4 * g + 2 * h);
        emit(j, _mm256_fmsub_ps(step, bytes_to_float(halves[h]), offset));
        emit(j + 1, _mm256_fmsub_ps(step, bytes_to_float(_mm_srli_si128(halves[h], 8)), offset));
      }
    }
  }
};

struct MXFP4 {
  static constexpr size_t kWeights = 32, kBytes = 17;
  template <typename Emit>
  static inline void decode(const uint8_t* p, Emit&& emit) {
    // Twice the values are integers; half the scale is exact, subnormal as it may be.
    const __m128i doubled = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
    const __m256 scale = _mm256_set1_ps(e8m0_to_float(p[0]) * 0.5f);
    const __m128i fifteen = _mm_set1_epi8(15), codes = load_sixteen(p + 1);
    const __m128i low = _mm_shuffle_epi8(doubled, _mm_and_si128(codes, fifteen));
    const __m128i high =
        _mm_shuffle_epi8(doubled, _mm_and_si128(_mm_srli_epi16(codes, 4), fifteen));
    emit(0, _mm256_mul_ps(scale, bytes_to_float(low)));
    emit(1, _mm256_mul_ps(scale, bytes_to_float(_mm_srli_si128(low, 8))));
    emit(2, _mm256_mul_ps(scale, bytes_to_float(high)));
    emit(3, _mm256_mul_ps(scale, bytes_to_float(_mm_srli_si128(high, 8))));
  }
};

// Blocks without a decoder of their own: through the reference decoder into a buffer.
template <typename Block>
struct Buffered {
  static constexpr size_t kWeights = Block::kWeights, kBytes = sizeof(Block);
  template <typename Emit>
  static inline void decode(const uint8_t* p, Emit&& emit) {
    Block block;
    std::memcpy(&block, p, sizeof(Block));
    alignas(32) float weights[kWeights];
    decode_block(block, weights);
    for (size_t j = 0; j < kWeights / 8; ++j) emit(j, _mm256_load_ps(weights + 8 * j));
  }
};

}  // namespace rota::avx2
