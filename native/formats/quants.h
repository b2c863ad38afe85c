// The quantised block layouts as structs, with their decoders and encoders. Layouts are
// explained in README.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rota {

struct BlockQ8_0 {
  static constexpr size_t kWeights = 32;
  uint16_t d;
  int8_t q[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

struct BlockQ2_0 {
  static constexpr size_t kWeights = 64;
  uint16_t d;
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ2_0) == 18);

struct BlockQ3_K {
  static constexpr size_t kWeights = 256;
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];
  uint16_t d;
};
static_assert(sizeof(BlockQ3_K) == 110);

struct BlockQ2_K {
  static constexpr size_t kWeights = 256;
  uint8_t scales[16];  // of 16 weights each: step in the low nibble, offset in the high one
  uint8_t qs[64];
  uint16_t d;
  uint16_t dmin;
};
static_assert(sizeof(BlockQ2_K) == 84);

struct BlockMXFP4 {
  static constexpr size_t kWeights = 32;
  uint8_t e;
  uint8_t qs[16];  // weight j in the low nibble of byte j, weight j + 16 in its high one
};
static_assert(sizeof(BlockMXFP4) == 17);

struct BlockMXFP8 {
  static constexpr size_t kWeights = 32;
  uint8_t e;
  uint8_t qs[32];
};
static_assert(sizeof(BlockMXFP8) == 33);

struct BlockPTQ1_0 {
  static constexpr size_t kWeights = 128;
  uint8_t qs[24];
  uint8_t qh[2];
  uint16_t d;
};
static_assert(sizeof(BlockPTQ1_0) == 28);

void decode_block(const BlockQ8_0& block, float* out);
void decode_block(const BlockQ2_0& block, float* out);
void decode_block(const BlockQ3_K& block, float* out);
void decode_block(const BlockQ2_K& block, float* out);
void decode_block(const BlockMXFP4& block, float* out);
void decode_block(const BlockMXFP8& block, float* out);
void decode_block(const BlockPTQ1_0& block, float* out);

void encode_block(const float* in, BlockQ8_0& block);
void encode_block(const float* in, BlockQ2_0& block);
void encode_block(const float* in, BlockQ3_K& block);
void encode_block(const float* in, BlockQ2_K& block);
void encode_block(const float* in, BlockMXFP4& block);
void encode_block(const float* in, BlockMXFP8& block);
void encode_block(const float* in, BlockPTQ1_0& block);

// Blocks of scales and codes that were chosen elsewhere: what they decode to is scale * code,
// exactly. `d` are fp16 bits. Codes: Q2_0 -1 .. 2, PTQ1_0 -1 .. 1, Q3_K -4 .. 3 with sixteen scales
// -32 .. 31.
void pack_block(uint16_t d, const int8_t* codes, BlockQ2_0& block);
void pack_block(uint16_t d, const int8_t* codes, BlockPTQ1_0& block);
void pack_block(uint16_t d, const int8_t* scales, const int8_t* codes, BlockQ3_K& block);

// Scale k (0..15) of a Q3_K block, -32..31.
int q3_k_scale(const uint8_t* scales, int k);
// Digit n (0..4) of a PTQ1_0 byte: 0, 1 or 2.
inline int ptq1_0_trit(uint8_t byte, int n) {
  constexpr uint32_t kPower[5] = {1, 3, 9, 27, 81};
  return static_cast<int>((((byte * kPower[n]) & 255u) * 3u) >> 8);
}

}  // namespace rota
