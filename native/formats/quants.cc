// Decoders and encoders of the quantised blocks, scalar and exact.
#include "formats/quants.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "formats/numbers.h"

namespace rota {
namespace {

constexpr float kLargestFp16 = 65504.f;

float group_amax(const float* in, size_t n) {
  float amax = 0.f;
  for (size_t i = 0; i < n; ++i) amax = std::max(amax, std::fabs(in[i]));
  return amax;
}

// The scale as it will be stored. Codes are rounded with this one, so that decoding sees the error
// of the code alone.
uint16_t store_scale(float scale) {
  return float_to_fp16(std::clamp(scale, -kLargestFp16, kLargestFp16));
}

// round(value / scale) clamped to [lowest, highest]; 0 where the stored scale is 0.
int code_of(float value, float scale, int lowest, int highest) {
  if (scale == 0.f) return 0;
  const double ratio =
      std::clamp(value / scale, static_cast<float>(lowest), static_cast<float>(highest));
  // Half away from zero; in double the sum is exact, and no library call is made a weight.
  return static_cast<int>(ratio + (ratio < 0 ? -0.5 : 0.5));
}

// Where PTQ1_0 keeps weight w: byte (24 and 25 are qh) and digit.
struct TritPlace {
  int byte;
  int digit;
};
constexpr TritPlace trit_place(int w) {
  if (w < 80) return {w % 16, w / 16};
  if (w < 120) return {16 + (w - 80) % 8, (w - 80) / 8};
  return {24 + (w - 120) % 2, (w - 120) / 2};
}

void set_q3_k_scale(uint8_t* scales, int k, int value) {
  const int stored = value + 32;
  uint8_t& low = scales[k % 8];
  low = static_cast<uint8_t>(low | ((stored & 15) << (k < 8 ? 0 : 4)));
  uint8_t& high = scales[8 + k % 4];
  high = static_cast<uint8_t>(high | ((stored >> 4) << (2 * (k / 4))));
}

// The element of largest magnitude, with its sign.
float signed_extreme(const float* in, size_t n) {
  float extreme = 0.f;
  for (size_t i = 0; i < n; ++i) {
    if (std::fabs(in[i]) > std::fabs(extreme)) extreme = in[i];
  }
  return extreme;
}

}  // namespace

void decode_block(const BlockQ8_0& block, float* out) {
  const float d = fp16_to_float(block.d);
  for (size_t j = 0; j < BlockQ8_0::kWeights; ++j) out[j] = d * static_cast<float>(block.q[j]);
}

void encode_block(const float* in, BlockQ8_0& block) {
  block.d = store_scale(group_amax(in, BlockQ8_0::kWeights) / 127.f);
  const float d = fp16_to_float(block.d);
  for (size_t j = 0; j < BlockQ8_0::kWeights; ++j) {
    block.q[j] = static_cast<int8_t>(code_of(in[j], d, -127, 127));
  }
}

void decode_block(const BlockQ2_0& block, float* out) {
  const float d = fp16_to_float(block.d);
  for (size_t j = 0; j < BlockQ2_0::kWeights; ++j) {
    const int code = (block.qs[j / 4] >> (2 * (j % 4))) & 3;
    out[j] = d * static_cast<float>(code - 1);
  }
}

void encode_block(const float* in, BlockQ2_0& block) {
  const uint16_t bits = store_scale(group_amax(in, BlockQ2_0::kWeights));
  const float d = fp16_to_float(bits);
  int8_t codes[BlockQ2_0::kWeights];
  for (size_t j = 0; j < BlockQ2_0::kWeights; ++j) {
    codes[j] = static_cast<int8_t>(code_of(in[j], d, -1, 2));
  }
  pack_block(bits, codes, block);
}

void pack_block(uint16_t d, const int8_t* codes, BlockQ2_0& block) {
  block.d = d;
  std::memset(block.qs, 0, sizeof(block.qs));
  for (size_t j = 0; j < BlockQ2_0::kWeights; ++j) {
    block.qs[j / 4] = static_cast<uint8_t>(block.qs[j / 4] | ((codes[j] + 1) << (2 * (j % 4))));
  }
}

int q3_k_scale(const uint8_t* scales, int k) {
  const int low = k < 8 ? scales[k] & 15 : scales[k - 8] >> 4;
  const int high = (scales[8 + k % 4] >> (2 * (k / 4))) & 3;
  return (low | (high << 4)) - 32;
}

void decode_block(const BlockQ3_K& block, float* out) {
  const float d = fp16_to_float(block.d);
  for (int w = 0; w < 256; ++w) {
    const int half = w / 128, lane = w % 32, step = (w % 128) / 32;
    const int low = (block.qs[32 * half + lane] >> (2 * step)) & 3;
    const bool high = ((block.hmask[lane] >> (4 * half + step)) & 1) != 0;
    const auto scale = static_cast<float>(q3_k_scale(block.scales, w / 16));
    out[w] = d * scale * static_cast<float>(high ? low : low - 4);
  }
}

void encode_block(const float* in, BlockQ3_K& block) {
  float ideal[16];
  for (size_t k = 0; k < 16; ++k) ideal[k] = signed_extreme(in + 16 * k, 16) / -4.f;
  const uint16_t bits = store_scale(signed_extreme(ideal, 16) / -32.f);
  const float d = fp16_to_float(bits);
  int8_t scales[16], codes[BlockQ3_K::kWeights];
  for (size_t k = 0; k < 16; ++k) {
    scales[k] = static_cast<int8_t>(code_of(ideal[k], d, -32, 31));
    const float step = d * static_cast<float>(scales[k]);
    for (size_t w = 16 * k; w < 16 * (k + 1); ++w) {
      codes[w] = static_cast<int8_t>(code_of(in[w], step, -4, 3));
    }
  }
  pack_block(bits, scales, codes, block);
}

void pack_block(uint16_t d, const int8_t* scales, const int8_t* codes, BlockQ3_K& block) {
  std::memset(&block, 0, sizeof(block));
  block.d = d;
  for (int k = 0; k < 16; ++k) set_q3_k_scale(block.scales, k, scales[k]);
  for (int w = 0; w < 256; ++w) {
    const int q = codes[w] + 4;
    const int half = w / 128, lane = w % 32, step = (w % 128) / 32;
    uint8_t& low = block.qs[32 * half + lane];
    low = static_cast<uint8_t>(low | ((q & 3) << (2 * step)));
    uint8_t& high = block.hmask[lane];
    high = static_cast<uint8_t>(high | ((q >> 2) << (4 * half + step)));
  }
}

void decode_block(const BlockPTQ1_0& block, float* out) {
  const float d = fp16_to_float(block.d);
  for (int w = 0; w < 128; ++w) {
    const TritPlace place = trit_place(w);
    const uint8_t byte = place.byte < 24 ? block.qs[place.byte] : block.qh[place.byte - 24];
    out[w] = d * static_cast<float>(ptq1_0_trit(byte, place.digit) - 1);
  }
}

void encode_block(const float* in, BlockPTQ1_0& block) {
  const uint16_t bits = store_scale(group_amax(in, BlockPTQ1_0::kWeights));
  const float d = fp16_to_float(bits);
  int8_t codes[BlockPTQ1_0::kWeights];
  for (size_t w = 0; w < BlockPTQ1_0::kWeights; ++w) {
    codes[w] = static_cast<int8_t>(code_of(in[w], d, -1, 1));
  }
  pack_block(bits, codes, block);
}

void pack_block(uint16_t d, const int8_t* codes, BlockPTQ1_0& block) {
  block.d = d;
  // Base-3 numbers of five digits, the first the most significant; a qh byte leaves its fifth digit
  // 0.
  constexpr int kPower[5] = {81, 27, 9, 3, 1};
  int value[26] = {};
  for (int w = 0; w < 128; ++w) {
    const TritPlace place = trit_place(w);
    value[place.byte] += (codes[w] + 1) * kPower[place.digit];
  }
  const auto packed = [&](int b) { return static_cast<uint8_t>((value[b] * 256 + 242) / 243); };
  for (int b = 0; b < 24; ++b) block.qs[b] = packed(b);
  for (int h = 0; h < 2; ++h) block.qh[h] = packed(24 + h);
}

}  // namespace rota
