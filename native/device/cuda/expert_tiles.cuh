// The parts of a product of 16 weight rows with integer rows on the tensor cores: one step of 32 or
// 16 weights, columns of activations. Knows no format.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "device/cuda/expert_call.cuh"
#include "device/cuda/shared_copies.cuh"

namespace rota {

// c[16, 8] += a[16, 32] b[32, 8] in bytes. Lane 4g + t has, of rows g and g + 8, weights 4t .. 4t +
// 3 in a0, a1 and 16 + 4t .. in a2, a3; of column g the activations in the same order; of rows g, g
// + 8 and columns 2t, 2t + 1 the sums c[0], c[1] and c[2], c[3].
__device__ __forceinline__ void step(int (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                     uint32_t a3, uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
// The same for weights without a sign.
__device__ __forceinline__ void unsigned_step(int (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                              uint32_t a3, uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
// c = a[16, 16] b[16, 8]
__device__ __forceinline__ void half_step(int (&c)[4], uint32_t a0, uint32_t a1, uint32_t b0) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
      "{%0,%1,%2,%3},{%4,%5},{%6},{%7,%7,%7,%7};"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
      : "r"(a0), "r"(a1), "r"(b0), "r"(0));
}

// A tile's eight columns are the planes of two pairs. Lane 4g + t reads plane g % 4 of pair g / 4,
// and has sums of planes 2t % 4 and 2t % 4 + 1 of pair t / 2. A second pair that is not there is
// the first again: no other column's sums see it.
template <int kTiles>
struct Columns {
  const IntegerRows& rows;
  int reads[kTiles], has[kTiles];  // the first chunks of those pairs' rows

  __device__ __forceinline__ uint4 at(int tile, int chunk, int q) const {
    return rows.words[(reads[tile] + chunk) * kChunkVectors + q * 16 + lane() % 16];
  }
  __device__ __forceinline__ uint4 digits_at(int tile, int chunk, int q) const {
    return rows.digits[(reads[tile] + chunk) * kDigitVectors + q * 16 + lane() % 16];
  }
  // What digit rows have behind half `block` of a chunk.
  __device__ __forceinline__ int2 offset(int tile, int chunk, int block) const {
    const uint4* at = rows.digits + (has[tile] + chunk) * kDigitVectors + kChunkVectors + block;
    return reinterpret_cast<const int2*>(at)[lane() % 2];
  }
  __device__ __forceinline__ float unscale(int tile, int chunk) const {
    return rows.unscale[has[tile] + chunk];
  }
  __device__ __forceinline__ static int lane() { return static_cast<int>(threadIdx.x % 32); }
};

// Sums of a row's products with two planes of a pair: [0] of row g, [1] of row g + 8.
template <int kTiles>
struct Sums {
  float c[kTiles][2] = {};
};

// sum += scale * c, whose planes are put together.
__device__ __forceinline__ void add_scaled(float (&sum)[2], const int (&c)[4], float scale_g,
                                           float scale_h) {
  sum[0] = fmaf(scale_g, static_cast<float>(c[0] * 256 + c[1]), sum[0]);
  sum[1] = fmaf(scale_h, static_cast<float>(c[2] * 256 + c[3]), sum[1]);
}

// A chunk's sums to the row's.
template <int kTiles>
__device__ __forceinline__ void add_chunk(Sums<kTiles>& sums, const Sums<kTiles>& of_chunk,
                                          const Columns<kTiles>& columns, int chunk) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    const float unscale = columns.unscale(n, chunk);
    sums.c[n][0] = fmaf(unscale, of_chunk.c[n][0], sums.c[n][0]);
    sums.c[n][1] = fmaf(unscale, of_chunk.c[n][1], sums.c[n][1]);
  }
}

// The halves of a word.
__device__ __forceinline__ float low_half(uint32_t word) {
  return __low2float(*reinterpret_cast<const __half2*>(&word));
}
__device__ __forceinline__ float high_half(uint32_t word) {
  return __high2float(*reinterpret_cast<const __half2*>(&word));
}

// Four bytes of a and b (their bytes 0 .. 3 and 4 .. 7), each where a nibble of `which` says; with
// a nibble's top bit its byte's sign eight times.
__device__ __forceinline__ uint32_t bytes_of(uint32_t a, uint32_t b, uint32_t which) {
  uint32_t v;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(which));
  return v;
}
// A signed byte of a word.
template <int kAt>
__device__ __forceinline__ int signed_byte(uint32_t word) {
  return static_cast<int>(bytes_of(word, 0, 0x8880u + 0x1111u * kAt));
}
// (a & mask) ^ flip in one instruction: of two constants the compiler would make two.
__device__ __forceinline__ uint32_t masked(uint32_t a, uint32_t mask, uint32_t flip) {
  uint32_t v;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(v) : "r"(a), "r"(mask), "r"(flip));
  return v;
}
// a where mask, b elsewhere.
__device__ __forceinline__ uint32_t merged(uint32_t mask, uint32_t a, uint32_t b) {
  uint32_t v;
  asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(v) : "r"(mask), "r"(a), "r"(b));
  return v;
}

}  // namespace rota
