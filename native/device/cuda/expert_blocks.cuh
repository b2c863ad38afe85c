// A block of each format times columns of split activations: 16 rows at once, codes made into
// exact halves in registers (bit layouts: formats/README.md). Every product is exact; a block's
// sums are scaled in fp32 and added in the order of the blocks.
//
// multiply(g, h, t, columns, group, sums): g and h are the block's bytes of rows g and g + 8, t the
// lane of four, `group` the block's first group of 32 weights.
#pragma once

#include "device/cuda/expert_tiles.cuh"
#include "formats/block.h"

namespace rota {

// kBytes and kGroups of a block. kPiece blocks of a row are brought to shared memory at a time, at
// most 225 bytes. The sums still need kFactor.
template <Format kFormat>
struct ExpertBlock;

template <>
struct ExpertBlock<Format::kQ8_0> {
  static constexpr int kBytes = 34, kGroups = 1, kPiece = 6;
  static constexpr float kFactor = 1;

  // Bytes 0, 2 and 1, 3 of four codes.
  __device__ static void codes(uint32_t w, uint32_t* even, uint32_t* odd) {
    // The sign bit flipped is the code plus 128.
    constexpr uint32_t kZero = twice(1152);
    *even = less((w & 0x00ff00ff) ^ 0x64806480, kZero);
    *odd = less(((w >> 8) & 0x00ff00ff) ^ 0x64806480, kZero);
  }
  template <int kTiles>
  __device__ static void multiply(Shared g, Shared h, int t, const Columns<kTiles>& columns,
                                  int group, Sums<kTiles>& sums) {
    uint32_t first[4], second[4];
    const Words of_g(g + 2 + 4 * t), of_h(h + 2 + 4 * t);
    codes(of_g.at(0), &first[0], &first[2]);
    codes(of_h.at(0), &first[1], &first[3]);
    codes(of_g.at(16), &second[0], &second[2]);
    codes(of_h.at(16), &second[1], &second[3]);
    Sums<kTiles> block;
    group_steps(block, columns, group, first, second);
    add_scaled(sums, block, load_half(g), load_half(h));
  }
};

template <>
struct ExpertBlock<Format::kMXFP4> {
  static constexpr int kBytes = 17, kGroups = 1, kPiece = 12;
  // An E2M1 code's three bits below the sign, as the lowest exponent bits and the highest mantissa
  // bit of an fp16, are its value * 2^-14, subnormals too.
  static constexpr float kFactor = 0x1p14f;

  __device__ static void codes(uint32_t w, uint32_t (&first)[4], uint32_t (&second)[4], int row) {
    constexpr uint32_t kSign = 0x80008000, kRest = 0x0e000e00;
    first[row] = ((w << 12) & kSign) | ((w << 9) & kRest);
    first[row + 2] = ((w << 4) & kSign) | ((w << 1) & kRest);
    second[row] = ((w << 8) & kSign) | ((w << 5) & kRest);
    second[row + 2] = (w & kSign) | ((w >> 3) & kRest);
  }
  // 2^(e - 127): byte 0 is half of byte 1's. 255, which is no number, is infinite here: so is all
  // that it meets, or no number.
  __device__ static float scale(Shared block) {
    return __uint_as_float(max(load_byte(block) << 23, 0x00400000u));
  }
  template <int kTiles>
  __device__ static void multiply(Shared g, Shared h, int t, const Columns<kTiles>& columns,
                                  int group, Sums<kTiles>& sums) {
    uint32_t first[4], second[4];
    codes(Words(g + 1 + 4 * t).at(0), first, second, 0);
    codes(Words(h + 1 + 4 * t).at(0), first, second, 1);
    Sums<kTiles> block;
    group_steps(block, columns, group, first, second);
    add_scaled(sums, block, scale(g), scale(h));
  }
};

template <>
struct ExpertBlock<Format::kQ2_0> {
  static constexpr int kBytes = 18, kGroups = 2, kPiece = 10;
  static constexpr float kFactor = 1;

  // Four codes of a byte: fields 0 and 2, 1 and 3, are put 16 bits apart.
  __device__ static void codes(uint32_t byte, uint32_t* even, uint32_t* odd) {
    const uint32_t both = byte * 0x1001u;
    constexpr uint32_t kZero = twice(1025), kQuarter = twice(0.25f), kOddZero = twice(-257);
    *even = less(picked(both, 0x00030003, kMagic), kZero);
    *odd = scaled(picked(both, 0x000c000c, kMagic), kQuarter, kOddZero);
  }
  template <int kTiles>
  __device__ static void multiply(Shared g, Shared h, int t, const Columns<kTiles>& columns,
                                  int group, Sums<kTiles>& sums) {
    Sums<kTiles> block;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t first[4], second[4];
      codes(load_byte(g + t + 2 + 8 * half), &first[0], &first[2]);
      codes(load_byte(h + t + 2 + 8 * half), &first[1], &first[3]);
      codes(load_byte(g + t + 6 + 8 * half), &second[0], &second[2]);
      codes(load_byte(h + t + 6 + 8 * half), &second[1], &second[3]);
      group_steps(block, columns, group + half, first, second);
    }
    add_scaled(sums, block, load_half(g), load_half(h));
  }
};

template <>
struct ExpertBlock<Format::kPTQ1_0> {
  static constexpr int kBytes = 28, kGroups = 4, kPiece = 5;
  // A digit is taken as 1024 + 256 t; the sums of the activations alone, 1280 times, make it 256 (t
  // - 1).
  static constexpr float kFactor = 1.f / 256;
  static constexpr uint32_t kBytesOf = 0x00ff00ff;

  struct Bytes {
    uint32_t even, odd;  // bytes 0, 2 and 1, 3 of a word
    // The top digit of each byte; the others move up.
    __device__ void take(uint32_t (&a)[4], int row) {
      even *= 3;
      odd *= 3;
      a[row] = picked(even, 0x03000300, kMagic);
      a[row + 2] = picked(odd, 0x03000300, kMagic);
      even &= kBytesOf;
      odd &= kBytesOf;
    }
  };
  __device__ static Bytes split(uint32_t w) { return {w & kBytesOf, (w >> 8) & kBytesOf}; }

  // Weights 80 .. 127 are in three steps of the lanes' own order: lane t < 2 has digits 0, 1, 2 of
  // bytes 16 + 4t .., lane t >= 2 digits 3, 4 of bytes 16 + 4 (t - 2) .., then four digits of qh.
  // Four values 4c of step j: c = 24 + t + 2j for t >= 2, else 20 + t + 2j.
  struct Tail {
    Bytes bytes, last;
    __device__ Tail(Shared block, int t)
        : bytes(split(load_word(block + 16 + 4 * (t & 1)))), last() {
      const uint32_t skip = t < 2 ? 1 : 27;  // 27 * 255 stays below 2^16
      bytes.even = bytes.even * skip & kBytesOf;
      bytes.odd = bytes.odd * skip & kBytesOf;
      const uint32_t qh = load_word(block + 24);
      const uint32_t digits = t == 3 ? 9u | (27u << 16) : 1u | (3u << 16);
      last.even = (qh & 255) * digits & kBytesOf;
      last.odd = ((qh >> 8) & 255) * digits & kBytesOf;
    }
    __device__ void take(int j, int t, uint32_t (&a)[4], int row) {
      if (j == 2 && t >= 2) bytes = last;
      bytes.take(a, row);
    }
  };

  template <int kTiles>
  __device__ static void both(const uint32_t (&a)[4], uint32_t b0, uint32_t b1, int n,
                              Sums<kTiles>& block, Sums<kTiles>& plain) {
    constexpr uint32_t kOnes = 0x3c003c00;
    const uint32_t ones[4] = {kOnes, kOnes, kOnes, kOnes};
    step(block.c[n], a, b0, b1);
    step(plain.c[n], ones, b0, b1);
  }

  template <int kTiles>
  __device__ static void multiply(Shared g, Shared h, int t, const Columns<kTiles>& columns,
                                  int group, Sums<kTiles>& sums) {
    Sums<kTiles> block, plain;
    Bytes of_g = split(load_word(g + 4 * t)), of_h = split(load_word(h + 4 * t));
    uint4 b[kTiles];
#pragma unroll
    for (int digit = 0; digit < 5; ++digit) {
      uint32_t a[4];
      of_g.take(a, 0);
      of_h.take(a, 1);
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
        if (digit % 2 == 0) b[n] = columns.group(n, group + digit / 2);
        both(a, digit % 2 == 0 ? b[n].x : b[n].z, digit % 2 == 0 ? b[n].y : b[n].w, n, block,
             plain);
      }
    }
    Tail tail_g(g, t), tail_h(h, t);
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      uint32_t a[4];
      tail_g.take(j, t, a, 0);
      tail_h.take(j, t, a, 1);
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
        const uint2 four = columns.four(n, t, group, (t < 2 ? 20 : 24) + t + 2 * j);
        both(a, four.x, four.y, n, block, plain);
      }
    }
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) block.c[n][i] = fmaf(-1280.f, plain.c[n][i], block.c[n][i]);
    }
    add_scaled(sums, block, load_half(g + 26), load_half(h + 26));
  }
};

template <>
struct ExpertBlock<Format::kF16> {
  static constexpr int kBytes = 64, kGroups = 1, kPiece = 3;
  static constexpr float kFactor = 1;

  __device__ static void four(Shared p, uint32_t* even, uint32_t* odd) {
    const uint32_t low = load_word(p), high = load_word(p + 4);
    *even = __byte_perm(low, high, 0x5410);
    *odd = __byte_perm(low, high, 0x7632);
  }
  template <int kTiles>
  __device__ static void multiply(Shared g, Shared h, int t, const Columns<kTiles>& columns,
                                  int group, Sums<kTiles>& sums) {
    uint32_t first[4], second[4];
    four(g + 8 * t, &first[0], &first[2]);
    four(h + 8 * t, &first[1], &first[3]);
    four(g + 32 + 8 * t, &second[0], &second[2]);
    four(h + 32 + 8 * t, &second[1], &second[3]);
    Sums<kTiles> block;
    group_steps(block, columns, group, first, second);
    add_scaled(sums, block, 1.f, 1.f);
  }
};

}  // namespace rota
