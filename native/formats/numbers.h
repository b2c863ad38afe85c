// Small number formats (fp16, bf16, e4m3, e2m1, e8m0) and the model's three fake quantisers,
// bit-exact per operation. Knows nothing of blocks, tensors or files.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace rota {

// IEEE binary16. Exact, subnormals and infinities included.
inline float fp16_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 31u;
  const uint32_t mantissa = h & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}
// Nearest, ties to even; overflow to infinity; a NaN stays one.
uint16_t float_to_fp16(float value);

inline float bf16_to_float(uint16_t b) {
  return std::bit_cast<float>(static_cast<uint32_t>(b) << 16);
}
uint16_t float_to_bf16(float value);

// E4M3FN: no infinities, 0x7f and 0xff are NaN, largest 448, subnormal step 2^-9.
inline float e4m3_to_float(uint8_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 0x80u) << 24, magnitude = code & 0x7fu;
  if (magnitude == 0x7f) return std::bit_cast<float>(0x7fc00000u);
  if (magnitude < 8) {  // subnormal
    const float value = static_cast<float>(magnitude) * 0x1p-9f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  // Exponent and mantissa move together; the bias goes from 7 to 127.
  return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));
}
// Nearest even, saturating at +-448. Not for NaN.
uint8_t float_to_e4m3(float value);

// E2M1: +-{0, .5, 1, 1.5, 2, 3, 4, 6}, sign in bit 3.
inline float e2m1_to_float(uint8_t code) {
  constexpr float kMagnitude[8] = {0.f, .5f, 1.f, 1.5f, 2.f, 3.f, 4.f, 6.f};
  const float magnitude = kMagnitude[code & 7];
  return (code & 8) != 0 ? -magnitude : magnitude;
}
// Nearest, ties to the even code, saturating at +-6. Not for NaN.
uint8_t float_to_e2m1(float value);

// E8M0: 2^(byte - 127); byte 0 is 2^-127 (an fp32 subnormal), 255 is NaN.
inline float e8m0_to_float(uint8_t byte) {
  if (byte == 255) return std::bit_cast<float>(0x7fc00000u);
  if (byte == 0) return 0x1p-127f;
  return std::bit_cast<float>(static_cast<uint32_t>(byte) << 23);
}

// 2^ceil(log2 x) for normal x > 0, on the exponent bits.
inline float pow2_ceil(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t exponent = ((bits >> 23) & 255u) + ((bits & 0x7fffffu) != 0 ? 1u : 0u);
  return std::bit_cast<float>(exponent << 23);
}

// The KV cache was trained through these roundings, so they are part of the model (V4.1
// reference, 2.8). In place; n a multiple of the block. NaN-free input assumed.
//   fp8      block 32: s = pow2ceil(max(amax, 1e-4) * fp32(1/448)),    x := E4M3(x / s) * s window
//   KV, activations fp4_e8m0 block 32: s = pow2ceil(max(amax, 6*2^-126) * fp32(1/6)),  x := E2M1(x
//   / s) * s       index query and key fp4_e4m3 block 16: s = E4M3(max(amax, 6*2^-9) / 6), x :=
//   E2M1(x / s) * s       compressed KV
inline constexpr size_t kFakeFp8Block = 32;
inline constexpr size_t kFakeFp4E8m0Block = 32;
inline constexpr size_t kFakeFp4E4m3Block = 16;
// The scale s of one block, fp4_e4m3's as its code.
float fake_fp8_scale(const float* block);
float fake_fp4_e8m0_scale(const float* block);
uint8_t fake_fp4_e4m3_scale(const float* block);
void fake_quant_fp8(float* x, size_t n);
void fake_quant_fp4_e8m0(float* x, size_t n);
void fake_quant_fp4_e4m3(float* x, size_t n);

}  // namespace rota
