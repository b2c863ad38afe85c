// Decoder and encoder of MXFP4: 32 four-bit floats under one power of two.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "formats/numbers.h"
#include "formats/quants.h"

namespace rota {
namespace {

constexpr float kLargestE2m1 = 6.f;
constexpr float kSmallestScale = 0x1p-126f;  // byte 1; below it powers of two are subnormal
constexpr float kLargestScale = 0x1p+125f;   // above it 6 times the scale is no fp32

// The byte of the smallest power of two under which no weight of the block saturates.
uint8_t scale_byte(const float* in) {
  float amax = 0.f;
  for (size_t i = 0; i < BlockMXFP4::kWeights; ++i) amax = std::max(amax, std::fabs(in[i]));
  if (amax == 0.f) return 0;
  int exponent;
  // amax / 6 = m * 2^exponent with m in [0.5, 1). In double: the quotient must not round up to a
  // power of two.
  const double mantissa = std::frexp(static_cast<double>(amax) / kLargestE2m1, &exponent);
  const double scale = std::ldexp(1.0, mantissa == 0.5 ? exponent - 1 : exponent);
  const float stored = static_cast<float>(
      std::clamp(scale, static_cast<double>(kSmallestScale), static_cast<double>(kLargestScale)));
  return static_cast<uint8_t>(std::ilogb(stored) + 127);
}

}  // namespace

void decode_block(const BlockMXFP4& block, float* out) {
  const float scale = e8m0_to_float(block.e);
  for (size_t j = 0; j < 16; ++j) {
    out[j] = scale * e2m1_to_float(block.qs[j] & 15);
    out[j + 16] = scale * e2m1_to_float(block.qs[j] >> 4);
  }
}

void encode_block(const float* in, BlockMXFP4& block) {
  block.e = scale_byte(in);
  const float scale = e8m0_to_float(block.e);
  for (size_t j = 0; j < 16; ++j) {
    const uint8_t low = float_to_e2m1(in[j] / scale), high = float_to_e2m1(in[j + 16] / scale);
    block.qs[j] = static_cast<uint8_t>(low | (high << 4));
  }
}

}  // namespace rota
