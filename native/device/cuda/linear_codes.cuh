// How a warp of the tensor-core product reads half a group of a grouped matrix: for each format,
// the words that a lane has of a row, and their exact values. Device code alone.
#pragma once

#include "device/cuda/matrix_layout.cuh"
#include "device/cuda/small_numbers.cuh"

namespace rota::gpu {

// A lane t of four has of half `step % 2` of a row's group step / 2 the 16-byte pieces 8 (step % 2)
// + 4 s + t, s in 0..1; word q of one is weights 64 q + 32 (step % 2) + 16 s + 4 t .. + 3. The
// words q of both belong to one block.
inline constexpr int kPieces = 2, kPieceWords = 4;

__device__ __forceinline__ uint32_t word_of(const uint4& words, int q) {
  return q == 0 ? words.x : q == 1 ? words.y : q == 2 ? words.z : words.w;
}

// Weights are read once: they shall not push activations out of the first cache.
__device__ __forceinline__ uint4 stream_16(const uint8_t* at) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(at));
  return v;
}
__device__ __forceinline__ uint2 stream_8(const uint8_t* at) {
  uint2 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v2.u32 {%0,%1}, [%2];"
               : "=r"(v.x), "=r"(v.y)
               : "l"(at));
  return v;
}
__device__ __forceinline__ uint32_t stream_4(const uint8_t* at) {
  uint32_t v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.u32 %0, [%1];" : "=r"(v) : "l"(at));
  return v;
}

// Groups of 272 bytes.
struct Q8_0Codes {
  uint4 pieces[kPieces];
  uint2 scales;  // four fp16
  __device__ __forceinline__ void load(const uint8_t* row, int step, int t) {
    const uint8_t* group = row + step / 2 * 272;
    const int half = step % 2;
#pragma unroll
    for (int s = 0; s < kPieces; ++s) pieces[s] = stream_16(group + 16 * (8 * half + 4 * s + t));
    scales = stream_8(group + kGroupWeights + 8 * half);
  }
  __device__ __forceinline__ float scale(int q) const {
    const uint32_t pair = q < 2 ? scales.x : scales.y;
    return fp16_to_float(static_cast<uint16_t>(q % 2 == 0 ? pair : pair >> 16));
  }
  __device__ __forceinline__ float4 code(int s, int q) const {
    // A byte under the exponent of 2^23 is 2^23 + byte; with its sign flipped that is code + 128.
    const uint32_t flipped = word_of(pieces[s], q) ^ 0x80808080u;
    const auto value = [&](uint32_t place) {
      return __uint_as_float(__byte_perm(flipped, 0x4b000000u, 0x7440u | place)) - 8388736.f;
    };
    return {value(0), value(1), value(2), value(3)};
  }
};

// Groups of 264 bytes, so that no more than 8 are aligned.
struct MXFP8Codes {
  uint4 pieces[kPieces];
  uint32_t scales;  // four E8M0
  __device__ __forceinline__ void load(const uint8_t* row, int step, int t) {
    const uint8_t* group = row + step / 2 * 264;
    const int half = step % 2;
#pragma unroll
    for (int s = 0; s < kPieces; ++s) {
      const uint8_t* at = group + 16 * (8 * half + 4 * s + t);
      const uint2 low = stream_8(at), high = stream_8(at + 8);
      pieces[s] = {low.x, low.y, high.x, high.y};
    }
    scales = stream_4(group + kGroupWeights + 4 * half);
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
  __device__ __forceinline__ float4 code(int s, int q) const {
    const uint32_t word = word_of(pieces[s], q);
    const float2 low = pair(word), high = pair(word >> 16);
    return {low.x, low.y, high.x, high.y};
  }
};

}  // namespace rota::gpu
