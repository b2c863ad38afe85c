// Decoders and encoders of MXFP4 and MXFP8: 32 small floats under one power of two.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "formats/numbers.h"
#include "formats/quants.h"

namespace rota {
namespace {

constexpr size_t kWeights = 32;
constexpr float kLargestE2m1 = 6.f, kLargestE4m3 = 448.f;
constexpr double kSmallestScale = 0x1p-126;  // byte 1; below it powers of two are subnormal

// The byte of the smallest power of two under which no weight of the block saturates.
uint8_t scale_byte(const float* in, float largest) {
  float amax = 0.f;
  for (size_t i = 0; i < kWeights; ++i) amax = std::max(amax, std::fabs(in[i]));
  if (amax == 0.f) return 0;
  int exponent;
  // amax / largest = m * 2^exponent with m in [0.5, 1). In double: the quotient must not round up
  // to a power of two.
  const double mantissa = std::frexp(static_cast<double>(amax) / largest, &exponent);
  const double scale = std::ldexp(1.0, mantissa == 0.5 ? exponent - 1 : exponent);
  // Above the limit the largest code times the scale would be no fp32.
  const double highest = std::ldexp(1.0, 127 - std::ilogb(largest));
  return static_cast<uint8_t>(std::ilogb(std::clamp(scale, kSmallestScale, highest)) + 127);
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
  block.e = scale_byte(in, kLargestE2m1);
  const float scale = e8m0_to_float(block.e);
  for (size_t j = 0; j < 16; ++j) {
    const uint8_t low = float_to_e2m1(in[j] / scale), high = float_to_e2m1(in[j + 16] / scale);
    block.qs[j] = static_cast<uint8_t>(low | (high << 4));
  }
}

void decode_block(const BlockMXFP8& block, float* out) {
  const float scale = e8m0_to_float(block.e);
  for (size_t j = 0; j < kWeights; ++j) out[j] = scale * e4m3_to_float(block.qs[j]);
}

void encode_block(const float* in, BlockMXFP8& block) {
  block.e = scale_byte(in, kLargestE4m3);
  const float scale = e8m0_to_float(block.e);
  for (size_t j = 0; j < kWeights; ++j) block.qs[j] = float_to_e4m3(in[j] / scale);
}

}  // namespace rota
