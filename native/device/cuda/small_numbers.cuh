// The small number formats of formats/numbers.h in device code, with the same bits. Knows no block
// and no row.
#pragma once

#include <cstdint>

namespace rota::gpu {

__device__ __forceinline__ float fp16_to_float(uint16_t h) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(h));
  return value;
}

__device__ __forceinline__ uint16_t float_to_fp16(float value) {
  uint16_t h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(value));
  return h;
}

__device__ __forceinline__ float bf16_to_float(uint16_t b) {
  return __uint_as_float(static_cast<uint32_t>(b) << 16);
}

// Exponent and mantissa moved to their places are the value times 2^-120, subnormals included.
__device__ __forceinline__ float e4m3_to_float(uint32_t code) {
  const uint32_t magnitude = code & 0x7fu;
  const float value = __uint_as_float(((code & 0x80u) << 24) | (magnitude << 20)) * 0x1p120f;
  return magnitude == 0x7fu ? __uint_as_float(0x7fc00000u) : value;
}

// Nearest even, saturating at +-448. Not for NaN. The steps are formats/numbers.cc's.
__device__ __forceinline__ uint32_t float_to_e4m3(float value) {
  const uint32_t bits = __float_as_uint(value), sign = (bits >> 24) & 0x80u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x43e00000u) return sign | 0x7eu;
  if (magnitude < 0x3c800000u) {
    const float shifted = __uint_as_float(magnitude) + 0x1p14f;
    return sign | (__float_as_uint(shifted) - 0x46800000u);
  }
  const uint32_t odd = (magnitude >> 20) & 1u;
  return sign | ((magnitude - 0x3c000000u + 0x7ffffu + odd) >> 20);
}

__device__ __forceinline__ float e2m1_to_float(uint32_t code) {
  // 0, .5, 1, 1.5, 2, 3, 4, 6 as halves of 0, 1, 2, 3, 4, 6, 8, 12: one nibble each.
  const float magnitude = static_cast<float>((0xc8643210u >> (4 * (code & 7u))) & 15u) * 0.5f;
  return (code & 8u) != 0 ? -magnitude : magnitude;
}

// Nearest, ties to the even code, saturating at +-6. Not for NaN.
__device__ __forceinline__ uint32_t float_to_e2m1(float value) {
  const float magnitude = fabsf(value);
  const uint32_t code = (magnitude > 0.25f) + (magnitude >= 0.75f) + (magnitude > 1.25f) +
                        (magnitude >= 1.75f) + (magnitude > 2.5f) + (magnitude >= 3.5f) +
                        (magnitude > 5.f);
  return code | (signbit(value) ? 8u : 0u);
}

__device__ __forceinline__ float e8m0_to_float(uint32_t byte) {
  if (byte == 255) return __uint_as_float(0x7fc00000u);
  return byte == 0 ? 0x1p-127f : __uint_as_float(byte << 23);
}

// 2^ceil(log2 x) for normal x > 0.
__device__ __forceinline__ float pow2_ceil(float x) {
  const uint32_t bits = __float_as_uint(x);
  return __uint_as_float((((bits >> 23) & 255u) + ((bits & 0x7fffffu) != 0 ? 1u : 0u)) << 23);
}

}  // namespace rota::gpu
