// Decoder and encoder of Q2_K: 16 sub-blocks of 16 two-bit codes, each with a step and an offset.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "formats/numbers.h"
#include "formats/quants.h"

namespace rota {
namespace {

constexpr int kSubBlocks = 16;
constexpr float kLargestFp16 = 65504.f;

// Where weight w keeps its code: byte of qs and shift.
struct CodePlace {
  int byte;
  int shift;
};
constexpr CodePlace code_place(int w) { return {32 * (w / 128) + w % 32, 2 * ((w % 128) / 32)}; }

// What a sub-block would have without rounding: value = step * code - offset.
struct Line {
  double step = 0, offset = 0;
};

Line ideal_line(const float* in) {
  const auto [low, high] = std::minmax_element(in, in + 16);
  const double bottom = std::min(0.0, static_cast<double>(*low));
  return {(std::max(0.0, static_cast<double>(*high)) - bottom) / 3, -bottom};
}

uint16_t store(double scale) {
  return float_to_fp16(static_cast<float>(std::min<double>(scale, kLargestFp16)));
}

int nearest_code(double ratio, int highest) {
  return static_cast<int>(std::clamp(ratio, 0.0, static_cast<double>(highest)) + 0.5);
}

// Encodes with d and dmin such that the largest step and offset get the code `top`; returns the
// squared error.
double encode_with(const float* in, const Line* lines, int top, BlockQ2_K& block) {
  Line largest;
  for (int k = 0; k < kSubBlocks; ++k) {
    largest.step = std::max(largest.step, lines[k].step);
    largest.offset = std::max(largest.offset, lines[k].offset);
  }
  std::memset(&block, 0, sizeof(block));
  block.d = store(largest.step / top);
  block.dmin = store(largest.offset / top);
  const double d = fp16_to_float(block.d), dmin = fp16_to_float(block.dmin);
  double error = 0;
  for (int k = 0; k < kSubBlocks; ++k) {
    const int step = d == 0 ? 0 : nearest_code(lines[k].step / d, 15);
    const int offset = dmin == 0 ? 0 : nearest_code(lines[k].offset / dmin, 15);
    block.scales[k] = static_cast<uint8_t>(step | (offset << 4));
    for (int w = 16 * k; w < 16 * (k + 1); ++w) {
      const double base = dmin * offset;
      const int q = step == 0 ? 0 : nearest_code((in[w] + base) / (d * step), 3);
      const CodePlace place = code_place(w);
      block.qs[place.byte] = static_cast<uint8_t>(block.qs[place.byte] | (q << place.shift));
      const double miss = d * step * q - base - in[w];
      error += miss * miss;
    }
  }
  return error;
}

}  // namespace

void decode_block(const BlockQ2_K& block, float* out) {
  const float d = fp16_to_float(block.d), dmin = fp16_to_float(block.dmin);
  for (int w = 0; w < 256; ++w) {
    const CodePlace place = code_place(w);
    const int q = (block.qs[place.byte] >> place.shift) & 3;
    const uint8_t scale = block.scales[w / 16];
    // Both products are exact in fp32 (11 + 4 + 2 bits); the difference rounds once.
    out[w] = d * static_cast<float>((scale & 15) * q) - dmin * static_cast<float>(scale >> 4);
  }
}

// 15 uses the whole range of the scales. 8, a power of two, keeps steps and offsets that are fp16
// numbers exactly. The better of both wins.
void encode_block(const float* in, BlockQ2_K& block) {
  Line lines[kSubBlocks];
  for (int k = 0; k < kSubBlocks; ++k) lines[k] = ideal_line(in + 16 * k);
  const double error = encode_with(in, lines, 15, block);
  BlockQ2_K other;
  if (encode_with(in, lines, 8, other) < error) block = other;
}

}  // namespace rota
