// How a warp reads a stretch of a weight row for a matrix-vector product: for each format, which
// four neighbouring weights a lane has for each of four words, and their exact values. Device code
// alone.
#pragma once

#include "device/cuda/small_numbers.cuh"

namespace rota::gpu {

// A stretch is 512 weights of a row: kWords words of 4 weights a lane. `Words` is what a lane holds
// of it in registers; load() asks memory for it, decode(q) makes four weights of it.
inline constexpr int kStretch = 512, kWords = 4;

// Weight that word q of a lane begins with, in its stretch.
__device__ __forceinline__ int first_weight(int lane, int q) { return 128 * q + 4 * lane; }

struct F32Words {
  float4 words[kWords];
  __device__ __forceinline__ void load(const uint8_t* row, int begin, int n, int lane) {
#pragma unroll
    for (int q = 0; q < kWords; ++q) {
      const int at = begin + first_weight(lane, q);
      words[q] = at < n ? __ldg(reinterpret_cast<const float4*>(row) + at / 4) : float4{};
    }
  }
  __device__ __forceinline__ float4 code(int q) const { return words[q]; }
};

template <bool kBrain>
struct HalfWords {
  uint2 words[kWords];
  __device__ __forceinline__ void load(const uint8_t* row, int begin, int n, int lane) {
#pragma unroll
    for (int q = 0; q < kWords; ++q) {
      const int at = begin + first_weight(lane, q);
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
};

}  // namespace rota::gpu
