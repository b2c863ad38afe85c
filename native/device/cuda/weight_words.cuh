// How a warp reads a stretch of a weight row for a matrix-vector product: for each format, which
// four neighbouring weights a lane has for each of four words, and their exact values. Device code
// alone.
#pragma once

#include "device/cuda/matrix_layout.cuh"
#include "device/cuda/small_numbers.cuh"

namespace rota::gpu {

// A stretch is 512 weights of a row: kWords words of 4 weights a lane. `Words` is what a lane holds
// of it in registers; load() asks memory for it, decode(q) makes four weights of it.
inline constexpr int kStretch = 512, kWords = 4;

// Weight that word q of a lane begins with, in its stretch.
struct NeighbourWords {
  static __device__ __forceinline__ int first(int lane, int q) { return 128 * q + 4 * lane; }
};
struct GroupedWords {
  static __device__ __forceinline__ int first(int lane, int q) {
    return kGroupWeights * (lane / 16) + 64 * q + 4 * (lane % 16);
  }
};

struct F32Words : NeighbourWords {
  static constexpr bool kScaled = false;
  float4 words[kWords];
  __device__ __forceinline__ void load(const uint8_t* row, int begin, int n, int lane) {
#pragma unroll
    for (int q = 0; q < kWords; ++q) {
      const int at = begin + first(lane, q);
      words[q] = at < n ? __ldg(reinterpret_cast<const float4*>(row) + at / 4) : float4{};
    }
  }
  __device__ __forceinline__ float4 code(int q) const { return words[q]; }
  __device__ __forceinline__ float scale(int) const { return 1; }
};

template <bool kBrain>
struct HalfWords : NeighbourWords {
  static constexpr bool kScaled = false;
  uint2 words[kWords];
  __device__ __forceinline__ void load(const uint8_t* row, int begin, int n, int lane) {
#pragma unroll
    for (int q = 0; q < kWords; ++q) {
      const int at = begin + first(lane, q);
      words[q] = at < n ? __ldg(reinterpret_cast<const uint2*>(row) + at / 4) : uint2{};
    }
  }
  static __device__ __forceinline__ float low(uint32_t pair) {
    return kBrain ? __uint_as_float(pair << 16) : fp16_to_float(static_cast<uint16_t>(pair));
  }
  static __device__ __forceinline__ float high(uint32_t pair) {
    return kBrain ? __uint_as_float(pair & 0xffff0000u)
                  : fp16_to_float(static_cast<uint16_t>(pair >> 16));
  }
  __device__ __forceinline__ float4 code(int q) const {
    return {low(words[q].x), high(words[q].x), low(words[q].y), high(words[q].y)};
  }
  __device__ __forceinline__ float scale(int) const { return 1; }
};

__device__ __forceinline__ uint32_t word_of(const uint4& words, int q) {
  return q == 0 ? words.x : q == 1 ? words.y : q == 2 ? words.z : words.w;
}

// In matrix_layout.cuh's order: a row of n weights is n / 256 groups of 272 bytes.
struct GroupedQ8_0Words : GroupedWords {
  static constexpr bool kScaled = true;
  uint4 codes;
  uint2 scales;  // four fp16
  __device__ __forceinline__ void load(const uint8_t* row, int begin, int n, int lane) {
    const int group = begin / kGroupWeights + lane / 16;
    codes = {}, scales = {};
    if (group * kGroupWeights >= n) return;
    const uint8_t* at = row + static_cast<size_t>(group) * 272;
    codes = __ldg(reinterpret_cast<const uint4*>(at) + lane % 16);
    scales = __ldg(reinterpret_cast<const uint2*>(at + kGroupWeights) + lane % 16 / 8);
  }
  __device__ __forceinline__ float scale(int q) const {
    const uint32_t pair = q < 2 ? scales.x : scales.y;
    return fp16_to_float(static_cast<uint16_t>(q % 2 == 0 ? pair : pair >> 16));
  }
  __device__ __forceinline__ float4 code(int q) const {
    // A byte under the exponent of 2^23 is 2^23 + byte; with its sign flipped that is code + 128.
    const uint32_t flipped = word_of(codes, q) ^ 0x80808080u;
    const auto value = [&](uint32_t place) {
      return __uint_as_float(__byte_perm(flipped, 0x4b000000u, 0x7440u | place)) - 8388736.f;
    };
    return {value(0), value(1), value(2), value(3)};
  }
};

// Groups of 264 bytes, so that no more than 8 are aligned.
struct GroupedMXFP8Words : GroupedWords {
  static constexpr bool kScaled = true;
  uint4 codes;
  uint32_t scales;  // four E8M0
  __device__ __forceinline__ void load(const uint8_t* row, int begin, int n, int lane) {
    const int group = begin / kGroupWeights + lane / 16;
    codes = {}, scales = 0;
    if (group * kGroupWeights >= n) return;
    const uint8_t* at = row + static_cast<size_t>(group) * 264;
    const uint2* half = reinterpret_cast<const uint2*>(at) + 2 * (lane % 16);
    const uint2 low = __ldg(half), high = __ldg(half + 1);
    codes = {low.x, low.y, high.x, high.y};
    scales = __ldg(reinterpret_cast<const uint32_t*>(at + kGroupWeights) + lane % 16 / 8);
  }
  __device__ __forceinline__ float scale(int q) const {
    return e8m0_to_float((scales >> (8 * q)) & 255u);
  }
  // Two codes at once are two halves, exactly, NaNs included.
  static __device__ __forceinline__ float2 pair(uint32_t codes16) {
    uint32_t halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<uint16_t>(codes16)));
    return {fp16_to_float(static_cast<uint16_t>(halves)),
            fp16_to_float(static_cast<uint16_t>(halves >> 16))};
  }
  __device__ __forceinline__ float4 code(int q) const {
    const uint32_t word = word_of(codes, q);
    const float2 low = pair(word), high = pair(word >> 16);
    return {low.x, low.y, high.x, high.y};
  }
};

}  // namespace rota::gpu
