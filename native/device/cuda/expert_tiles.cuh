// The parts of a product of 16 weight rows with split rows on the tensor cores: one step of 16
// weights, columns of activations, words from shared memory. Knows no format.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace rota {

// c[16, 8] += a[16, 16] b[16, 8]. Lane 4g + t has, of rows g and g + 8, weights 4t + {0, 2} in
// a[0], a[1] and 4t + {1, 3} in a[2], a[3]; of column g the activations in the same order; of rows
// g, g + 8 and columns 2t, 2t + 1 the sums c[0], c[1] and c[2], c[3].
__device__ __forceinline__ void step(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                     uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Columns 2p and 2p + 1 of a tile are the hi and lo of pair p; a tile has four pairs. Columns
// without a pair are any: no other column's sums see them.
template <int kTiles>
struct Columns {
  const uint4* at[kTiles];  // of this lane's column: group 0, its own sixteenth

  // Of the 32 values of a group: x, y for the first 16, z, w for the others.
  __device__ __forceinline__ uint4 group(int tile, int index) const { return at[tile][index * 8]; }
  // Of any four values 4c .. 4c + 3 of a group and the ones behind it, in place of the lane's own.
  __device__ __forceinline__ uint2 four(int tile, int lane, int index, int c) const {
    const auto* row = reinterpret_cast<const uint2*>(at[tile] - lane + index * 8);
    return row[c / 8 * 16 + c % 4 * 2 + c / 4 % 2];
  }
};

template <int kTiles>
struct Sums {
  float c[kTiles][4] = {};
};

// sums += scale of the row * block
template <int kTiles>
__device__ __forceinline__ void add_scaled(Sums<kTiles>& sums, const Sums<kTiles>& block,
                                           float scale_g, float scale_h) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    sums.c[n][0] = fmaf(scale_g, block.c[n][0], sums.c[n][0]);
    sums.c[n][1] = fmaf(scale_g, block.c[n][1], sums.c[n][1]);
    sums.c[n][2] = fmaf(scale_h, block.c[n][2], sums.c[n][2]);
    sums.c[n][3] = fmaf(scale_h, block.c[n][3], sums.c[n][3]);
  }
}

// Both steps of a group of 32 weights.
template <int kTiles>
__device__ __forceinline__ void group_steps(Sums<kTiles>& sums, const Columns<kTiles>& columns,
                                            int index, const uint32_t (&first)[4],
                                            const uint32_t (&second)[4]) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    const uint4 b = columns.group(n, index);
    step(sums.c[n], first, b.x, b.y);
    step(sums.c[n], second, b.z, b.w);
  }
}

// An address in shared memory, as its loads take it. They stay in their order with the copies that
// fill it, as all volatile assembly does.
using Shared = uint32_t;
__device__ __forceinline__ uint32_t load_word(Shared at) {
  uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at));
  return v;
}
__device__ __forceinline__ uint32_t load_byte(Shared at) {
  uint32_t v;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(at));
  return v;
}
__device__ __forceinline__ float load_half(Shared at) {
  uint16_t v;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(at));
  return __half2float(__ushort_as_half(v));
}
// Words from a place that is no multiple of four; four bytes behind them are read.
struct Words {
  Shared aligned;
  uint32_t shift;
  __device__ __forceinline__ explicit Words(Shared at) : aligned(at & ~3u), shift(at * 8) {}
  __device__ __forceinline__ uint32_t at(uint32_t offset) const {  // a multiple of four
    return __funnelshift_r(load_word(aligned + offset), load_word(aligned + offset + 4), shift);
  }
};

__device__ __forceinline__ __half2 as_half2(uint32_t bits) {
  return *reinterpret_cast<const __half2*>(&bits);
}
__device__ __forceinline__ uint32_t as_bits(__half2 h) {
  return *reinterpret_cast<const uint32_t*>(&h);
}
// fp16 of a number that is one, in both halves.
__host__ __device__ constexpr uint32_t twice(float value) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t sign = bits >> 16 & 0x8000, exponent = (bits >> 23 & 255) - 112;
  return (sign | exponent << 10 | (bits >> 13 & 0x3ff)) * 0x10001u;
}
// Both halves times `factor` plus `offset`, rounded once.
__device__ __forceinline__ uint32_t scaled(uint32_t bits, uint32_t factor, uint32_t offset) {
  return as_bits(__hfma2(as_half2(bits), as_half2(factor), as_half2(offset)));
}
__device__ __forceinline__ uint32_t less(uint32_t bits, uint32_t value) {
  return as_bits(__hsub2(as_half2(bits), as_half2(value)));
}
__device__ __forceinline__ uint32_t times(uint32_t bits, uint32_t factor) {
  return as_bits(__hmul2(as_half2(bits), as_half2(factor)));
}

// (bits & mask) | rest, in one instruction: of two constants the compiler would make two.
__device__ __forceinline__ uint32_t picked(uint32_t bits, uint32_t mask, uint32_t rest) {
  uint32_t v;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(v) : "r"(bits), "r"(mask), "r"(rest));
  return v;
}

// fp16 1024 in both halves: with an integer below 1024 or-ed in it is 1024 + the integer, exactly.
constexpr uint32_t kMagic = 0x64006400;

}  // namespace rota
