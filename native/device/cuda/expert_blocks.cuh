// A chunk of each format times columns of integer activations: 16 rows at once, codes made into
// exact bytes in registers. Where a chunk's parts lie is expert_layout.cuh's; what they mean,
// formats/README.md's. Sums of a block are exact integers; they are scaled in fp32 and added in the
// order of the blocks.
//
// multiply(at, lane, columns, chunk, sums): `at` is the chunk in shared memory, `chunk` its number
// in the row; sums are the chunk's alone, before the activations' scale.
#pragma once

#include "device/cuda/expert_tiles.cuh"
#include "formats/block.h"

namespace rota {

// kBytes are 16 rows of a chunk. kPiece chunks are brought to shared memory at a time, at most 4352
// bytes. The sums still need kFactor.
template <Format kFormat>
struct ExpertBlock;

template <>
struct ExpertBlock<Format::kQ8_0> {
  static constexpr int kBytes = 16 * 272, kPiece = 1;
  static constexpr float kFactor = 1;

  template <int kTiles>
  __device__ static void multiply(Shared at, int lane, const Columns<kTiles>& columns, int chunk,
                                  Sums<kTiles>& sums) {
    const Shared codes = at + static_cast<Shared>(lane * 16);
    const Shared scales = at + 4096 + static_cast<Shared>(lane / 4 * 32);
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const uint4 a = load_four(codes + q * 1024), b = load_four(codes + q * 1024 + 512);
      const uint32_t g = load_word(scales + q * 4), h = load_word(scales + q * 4 + 16);
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
        const uint4 x = columns.at(n, chunk, q);
        int first[4] = {}, second[4] = {};
        step(first, a.x, a.y, a.z, a.w, x.x, x.y);
        add_scaled(sums.c[n], first, low_half(g), low_half(h));
        step(second, b.x, b.y, b.z, b.w, x.z, x.w);
        add_scaled(sums.c[n], second, high_half(g), high_half(h));
      }
    }
  }
};

template <>
struct ExpertBlock<Format::kMXFP4> {
  static constexpr int kBytes = 16 * 136, kPiece = 2;
  static constexpr float kFactor = 0.5f;  // codes are taken twice

  // Twice the values of eight codes, as the sum of two bytes each: where a selector's top bit is
  // set, PRMT gives a byte's sign eight times. So `above` is 0 for negative codes and one too many
  // for positive ones; `below` is the value of negative codes, and -1 for positive ones.
  struct Codes {
    uint32_t above[2], below[2];
    __device__ explicit Codes(uint32_t w) {
      const uint32_t flipped = w ^ 0x88888888;
      above[0] = bytes_of(0x04030200, 0x0d090705, w);
      above[1] = bytes_of(0x04030200, 0x0d090705, w >> 16);
      below[0] = bytes_of(0xfdfeff00, 0xf4f8fafc, flipped);
      below[1] = bytes_of(0xfdfeff00, 0xf4f8fafc, flipped >> 16);
    }
  };
  // 2^(e - 127): byte 0 is half of byte 1's. 255, which is no number, is infinite here: so is all
  // that it meets, or no number.
  __device__ static float scale(uint32_t word, int at) {
    const uint32_t bits = at == 3 ? word >> 1 : word << (23 - 8 * at);
    return __uint_as_float(max(bits & 0x7f800000, 0x00400000u));
  }
  template <int kTiles>
  __device__ static void multiply(Shared at, int lane, const Columns<kTiles>& columns, int chunk,
                                  Sums<kTiles>& sums) {
    const Shared codes = at + static_cast<Shared>(lane * 16);
    const uint4 scales = load_four(at + 2048 + static_cast<Shared>(lane / 4 * 16));
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const uint4 w = load_four(codes + q * 512);
      const Codes g0(w.x), h0(w.y), g1(w.z), h1(w.w);
      const uint32_t of_g = q < 2 ? scales.x : scales.y, of_h = q < 2 ? scales.z : scales.w;
      const int byte = q % 2 * 2;
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
        const uint4 x = columns.at(n, chunk, q);
        int first[4] = {}, second[4] = {};
        step(first, g0.above[0], h0.above[0], g0.above[1], h0.above[1], x.x, x.y);
        step(first, g0.below[0], h0.below[0], g0.below[1], h0.below[1], x.x, x.y);
        add_scaled(sums.c[n], first, scale(of_g, byte), scale(of_h, byte));
        step(second, g1.above[0], h1.above[0], g1.above[1], h1.above[1], x.z, x.w);
        step(second, g1.below[0], h1.below[0], g1.below[1], h1.below[1], x.z, x.w);
        add_scaled(sums.c[n], second, scale(of_g, byte + 1), scale(of_h, byte + 1));
      }
    }
  }
};

template <>
struct ExpertBlock<Format::kQ2_0> {
  static constexpr int kBytes = 16 * 72, kPiece = 2;
  // A code c with its lowest bit flipped is 1 - c in two bits with a sign; at the top of a byte it
  // is 64 times that.
  static constexpr float kFactor = -1.f / 64;

  // The bytes of field s of a word.
  template <int s>
  __device__ static uint32_t field(uint32_t w) {
    return masked(w << (6 - 2 * s), 0xc0c0c0c0, 0x40404040);
  }
  template <int kTiles>
  __device__ static void block(uint32_t g, uint32_t h, const Columns<kTiles>& columns, int chunk,
                               int q, float scale_g, float scale_h, Sums<kTiles>& sums) {
    const uint32_t g0 = field<0>(g), g1 = field<1>(g), g2 = field<2>(g), g3 = field<3>(g);
    const uint32_t h0 = field<0>(h), h1 = field<1>(h), h2 = field<2>(h), h3 = field<3>(h);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      const uint4 x = columns.at(n, chunk, q);
      int c[4] = {};
      step(c, g0, h0, g1, h1, x.x, x.y);
      step(c, g2, h2, g3, h3, x.z, x.w);
      add_scaled(sums.c[n], c, scale_g, scale_h);
    }
  }
  template <int kTiles>
  __device__ static void multiply(Shared at, int lane, const Columns<kTiles>& columns, int chunk,
                                  Sums<kTiles>& sums) {
    const Shared codes = at + static_cast<Shared>(lane * 16);
    const uint4 scales = load_four(at + 1024 + static_cast<Shared>(lane / 4 * 16));
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      const uint4 w = load_four(codes + v * 512);
      const uint32_t of_g = v == 0 ? scales.x : scales.y, of_h = v == 0 ? scales.z : scales.w;
      block(w.x, w.y, columns, chunk, 2 * v, low_half(of_g), low_half(of_h), sums);
      block(w.z, w.w, columns, chunk, 2 * v + 1, high_half(of_g), high_half(of_h), sums);
    }
  }
};

template <>
struct ExpertBlock<Format::kPTQ1_0> {
  static constexpr int kBytes = 16 * 56, kPiece = 2;
  static constexpr float kFactor = 1;

  // Of a byte b the integer part of b / 256 * 3^(n + 1) is its first n + 1 digits as one number,
  // the PREFIX h[n], at most 242, and digit n is h[n] - 3 h[n - 1]. So the sum of digits times
  // activations is that of prefixes times a[n] - 3 a[n + 1], which digit rows hold: no digit is cut
  // out. In 16 bits a byte times 3^5 does not overflow; two bytes are multiplied at once.
  static constexpr uint32_t kHighs = 0x7351;  // the high bytes of two such pairs

  // Eight words of prefixes of a lane's 32 weights of a block. w: bytes 4t .. 4t + 3 of qs; two:
  // bytes 16 + 2t, 17 + 2t in its lower half; qh in `last`, whose digit t is this lane's.
  __device__ static void prefixes(uint32_t w, uint32_t two, uint32_t last, uint32_t power_t,
                                  uint32_t (&a)[8]) {
    const uint32_t even = bytes_of(w, 0, 0x4240), odd = bytes_of(w, 0, 0x4341);
    const uint32_t pair = bytes_of(two, 0, 0x4140), end = bytes_of(last, 0, 0x4140);
    a[0] = bytes_of(even * 3, odd * 3, kHighs);
    a[1] = bytes_of(even * 9, odd * 9, kHighs);
    a[2] = bytes_of(even * 27, odd * 27, kHighs);
    a[3] = bytes_of(even * 81, odd * 81, kHighs);
    a[4] = bytes_of(even * 243, odd * 243, kHighs);
    a[5] = bytes_of(pair * 3, pair * 9, 0x7531);
    a[6] = bytes_of(pair * 27, pair * 81, 0x7531);
    a[7] = bytes_of(pair * 243, end * power_t, 0x7531);
  }

  template <int kTiles>
  __device__ static void block(const uint32_t (&g)[8], const uint32_t (&h)[8],
                               const Columns<kTiles>& columns, int chunk, int b, float scale_g,
                               float scale_h, Sums<kTiles>& sums) {
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      const uint4 x = columns.digits_at(n, chunk, 2 * b);
      const uint4 y = columns.digits_at(n, chunk, 2 * b + 1);
      const int2 less = columns.offset(n, chunk, b);  // a weight is its digit less one
      int c[4] = {less.x, less.y, less.x, less.y};
      unsigned_step(c, g[0], h[0], g[1], h[1], x.x, x.y);
      unsigned_step(c, g[2], h[2], g[3], h[3], x.z, x.w);
      unsigned_step(c, g[4], h[4], g[5], h[5], y.x, y.y);
      unsigned_step(c, g[6], h[6], g[7], h[7], y.z, y.w);
      add_scaled(sums.c[n], c, scale_g, scale_h);
    }
  }
  template <int kTiles>
  __device__ static void multiply(Shared at, int lane, const Columns<kTiles>& columns, int chunk,
                                  Sums<kTiles>& sums) {
    const int t = lane % 4;
    const uint32_t power_t = t == 0 ? 3 : t == 1 ? 9 : t == 2 ? 27 : 81;
    const uint4 words = load_four(at + static_cast<Shared>(lane * 16));
    const uint2 twos = load_two(at + 512 + static_cast<Shared>(lane * 8));
    const uint4 ends = load_four(at + 768 + static_cast<Shared>(lane / 4 * 16));  // qh, scale
    uint32_t g[8], h[8];
    prefixes(words.x, twos.x, ends.x, power_t, g);
    prefixes(words.y, twos.x >> 16, ends.y, power_t, h);
    block(g, h, columns, chunk, 0, high_half(ends.x), high_half(ends.y), sums);
    prefixes(words.z, twos.y, ends.z, power_t, g);
    prefixes(words.w, twos.y >> 16, ends.w, power_t, h);
    block(g, h, columns, chunk, 1, high_half(ends.z), high_half(ends.w), sums);
  }
};

}  // namespace rota
