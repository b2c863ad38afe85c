// Rounding onto the small grids by their exponent bits.
#include "formats/numbers.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace rota {
namespace {

float group_amax(const float* x, size_t n) {
  float amax = 0.f;
  for (size_t i = 0; i < n; ++i) amax = std::max(amax, std::fabs(x[i]));
  return amax;
}

float round_e4m3(float value) { return e4m3_to_float(float_to_e4m3(value)); }

void scale_to_e2m1(float* x, size_t n, float scale) {
  for (size_t i = 0; i < n; ++i) x[i] = e2m1_to_float(float_to_e2m1(x[i] / scale)) * scale;
}

}  // namespace

uint16_t float_to_fp16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds past 65504
  if (magnitude < 0x38800000u) {
    // Subnormal: adding 0.5 lets the hardware round to multiples of 2^-24, ties to even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  const uint32_t rounded = magnitude - 0x38000000u + 0xfffu + odd;
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

uint16_t float_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

uint8_t float_to_e4m3(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint8_t>((bits >> 24) & 0x80u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x43e00000u) return static_cast<uint8_t>(sign | 0x7eu);  // >= 448
  if (magnitude < 0x3c800000u) {
    // Below 2^-6 codes are multiples of 2^-9: adding 2^14 leaves exactly that grid in the low bits,
    // ties to even.
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p14f;
    return static_cast<uint8_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x46800000u));
  }
  const uint32_t odd = (magnitude >> 20) & 1u;
  const uint32_t rounded = magnitude - 0x3c000000u + 0x7ffffu + odd;
  return static_cast<uint8_t>(sign | (rounded >> 20));
}

uint8_t float_to_e2m1(float value) {
  const float magnitude = std::fabs(value);
  // Midpoints between neighbours; a tie goes to the even code, so every second one belongs to the
  // upper side.
  const int code = (magnitude > 0.25f) + (magnitude >= 0.75f) + (magnitude > 1.25f) +
                   (magnitude >= 1.75f) + (magnitude > 2.5f) + (magnitude >= 3.5f) +
                   (magnitude > 5.f);
  return static_cast<uint8_t>(code | (std::signbit(value) ? 8 : 0));
}

float fake_fp8_scale(const float* block) {
  return pow2_ceil(std::max(group_amax(block, kFakeFp8Block), 1e-4f) * (1.f / 448.f));
}

float fake_fp4_e8m0_scale(const float* block) {
  const float amax = std::max(group_amax(block, kFakeFp4E8m0Block), 6.f * 0x1p-126f);
  return pow2_ceil(amax * (1.f / 6.f));
}

uint8_t fake_fp4_e4m3_scale(const float* block) {
  const float amax = std::max(group_amax(block, kFakeFp4E4m3Block), 6.f * 0x1p-9f);
  return float_to_e4m3(amax / 6.f);
}

void fake_quant_fp8(float* x, size_t n) {
  ROTA_CHECK(n % kFakeFp8Block == 0, "length", n);
  for (size_t begin = 0; begin < n; begin += kFakeFp8Block) {
    float* group = x + begin;
    const float scale = fake_fp8_scale(group);
    for (size_t i = 0; i < kFakeFp8Block; ++i) group[i] = round_e4m3(group[i] / scale) * scale;
  }
}

void fake_quant_fp4_e8m0(float* x, size_t n) {
  ROTA_CHECK(n % kFakeFp4E8m0Block == 0, "length", n);
  for (size_t begin = 0; begin < n; begin += kFakeFp4E8m0Block) {
    float* group = x + begin;
    scale_to_e2m1(group, kFakeFp4E8m0Block, fake_fp4_e8m0_scale(group));
  }
}

void fake_quant_fp4_e4m3(float* x, size_t n) {
  ROTA_CHECK(n % kFakeFp4E4m3Block == 0, "length", n);
  for (size_t begin = 0; begin < n; begin += kFakeFp4E4m3Block) {
    float* group = x + begin;
    scale_to_e2m1(group, kFakeFp4E4m3Block, e4m3_to_float(fake_fp4_e4m3_scale(group)));
  }
}

}  // namespace rota
