// The blocks of 256 weights in sub-blocks of 16: a chunk is a block, and a step of the tensor cores
// one sub-block, whose sums are multiplied by its scale in integers. None overflows: 16 products of
// 2^7 * 2^7, times 2^7, of 16 sub-blocks, are below 2^29.
#pragma once

#include "device/cuda/expert_blocks.cuh"

namespace rota {

// sum += c, row g times scale_g and row g + 8 times scale_h.
__device__ __forceinline__ void add_times(int (&sum)[4], const int (&c)[4], int scale_g,
                                          int scale_h) {
  sum[0] += c[0] * scale_g;
  sum[1] += c[1] * scale_g;
  sum[2] += c[2] * scale_h;
  sum[3] += c[3] * scale_h;
}
// As add_scaled, for integers too large to be put together.
__device__ __forceinline__ void add_large(float (&sum)[2], const int (&c)[4], float scale_g,
                                          float scale_h) {
  const auto both = [](int high, int low) {
    return fmaf(256.f, static_cast<float>(high), static_cast<float>(low));
  };
  sum[0] = fmaf(scale_g, both(c[0], c[1]), sum[0]);
  sum[1] = fmaf(scale_h, both(c[2], c[3]), sum[1]);
}

template <>
struct ExpertBlock<Format::kQ3_K> {
  static constexpr int kBytes = 16 * 110, kPiece = 2;
  // A code is taken at the top of a byte, which is 32 times, a scale 4 times.
  static constexpr float kFactor = 1.f / 128;

  // Four times the eight scales of a parity, sub-blocks u, 2 + u, .. 14 + u of a row, as signed
  // bytes. low: bytes u, 2 + u, 4 + u, 6 + u of `scales`, top: bytes 8 + u, 10 + u.
  struct Scales {
    uint32_t word[2];
    __device__ Scales(uint32_t low, uint32_t top) {
      const uint32_t first = bytes_of(top << 6, top << 4, 0x7610);
      const uint32_t second = bytes_of(top << 2, top, 0x7610);
      constexpr uint32_t kLow = 0x3c3c3c3c;
      word[0] = masked(merged(kLow, low << 2, first), 0xfcfcfcfc, 0x80808080);
      word[1] = masked(merged(kLow, low >> 2, second), 0xfcfcfcfc, 0x80808080);
    }
    template <int kStep>
    __device__ int of() const {  // sub-block 2 * kStep + u
      return signed_byte<kStep % 4>(word[kStep / 4]);
    }
  };
  // Of the four bytes `low` of qs and `high` of hmask, the codes of step s of half `half`, 32
  // times. A code of two bits whose high bit is not set is less 4: in three bits with a sign that
  // is the high bit flipped.
  template <int half, int s>
  __device__ static uint32_t codes(uint32_t low, uint32_t high) {
    const uint32_t two = s == 3 ? low >> 1 : low << (5 - 2 * s);
    return masked(merged(0x60606060, two, high << (7 - 4 * half - s)), 0xe0e0e0e0, 0x80808080);
  }

  struct Row {
    uint32_t high[2];
    Scales even, odd;
  };
  template <int half, int s, int kTiles>
  __device__ static void one_step(const uint4& low, const Row& g, const Row& h,
                                  const Columns<kTiles>& columns, int chunk,
                                  int (&sums)[kTiles][4]) {
    constexpr int kStep = 4 * half + s;
    const uint32_t g0 = codes<half, s>(low.x, g.high[0]), h0 = codes<half, s>(low.y, h.high[0]);
    const uint32_t g1 = codes<half, s>(low.z, g.high[1]), h1 = codes<half, s>(low.w, h.high[1]);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      const uint4 x = columns.at(n, chunk, kStep / 2);
      int c[4];
      half_step(c, g0, h0, kStep % 2 == 0 ? x.x : x.z);
      add_times(sums[n], c, g.even.of<kStep>(), h.even.of<kStep>());
      half_step(c, g1, h1, kStep % 2 == 0 ? x.y : x.w);
      add_times(sums[n], c, g.odd.of<kStep>(), h.odd.of<kStep>());
    }
  }

  template <int kTiles>
  __device__ static void multiply(Shared at, int lane, const Columns<kTiles>& columns, int chunk,
                                  Sums<kTiles>& sums) {
    const Shared codes_at = at + static_cast<Shared>(lane * 16);
    const auto row = static_cast<Shared>(lane / 4);
    const uint4 high = load_four(codes_at);
    const uint4 scale = load_four(at + 1536 + row * 16);
    const uint2 top = load_two(at + 1664 + row * 8);
    const auto twice = [](uint32_t word, bool upper) {
      return bytes_of(word, 0, upper ? 0x3232 : 0x1010);
    };
    const Row g = {{high.x, high.z},
                   Scales(scale.x, twice(top.x, false)),
                   Scales(scale.z, twice(top.y, false))};
    const Row h = {
        {high.y, high.w}, Scales(scale.y, twice(top.x, true)), Scales(scale.w, twice(top.y, true))};
    int c[kTiles][4] = {};
    const uint4 first = load_four(codes_at + 512);
    one_step<0, 0>(first, g, h, columns, chunk, c);
    one_step<0, 1>(first, g, h, columns, chunk, c);
    one_step<0, 2>(first, g, h, columns, chunk, c);
    one_step<0, 3>(first, g, h, columns, chunk, c);
    const uint4 second = load_four(codes_at + 1024);
    one_step<1, 0>(second, g, h, columns, chunk, c);
    one_step<1, 1>(second, g, h, columns, chunk, c);
    one_step<1, 2>(second, g, h, columns, chunk, c);
    one_step<1, 3>(second, g, h, columns, chunk, c);
    const uint32_t d = load_word(at + 1728 + row * 4);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) add_large(sums.c[n], c[n], low_half(d), high_half(d));
  }
};

template <>
struct ExpertBlock<Format::kQ2_K> {
  static constexpr int kBytes = 16 * 84, kPiece = 2;
  static constexpr float kFactor = 1;

  // Steps and offsets of the sub-blocks of a row, four bits each.
  struct Row {
    uint4 scales;
    template <int kAt>
    __device__ uint32_t byte() const {
      const uint32_t word = kAt / 4 == 0   ? scales.x
                            : kAt / 4 == 1 ? scales.y
                            : kAt / 4 == 2 ? scales.z
                                           : scales.w;
      return word >> (8 * (kAt % 4));
    }
    template <int kAt>
    __device__ int step() const {
      return static_cast<int>(byte<kAt>() & 15);
    }
    // In every byte, as a weight of the tensor cores.
    template <int kAt>
    __device__ uint32_t offset() const {
      return ((byte<kAt>() >> 4) & 15) * 0x01010101u;
    }
  };
  // Sub-block kAt, whose codes are field s.
  template <int kAt, int s, int kTiles>
  __device__ static void one_step(uint32_t low_g, uint32_t low_h, const Row& g, const Row& h,
                                  const Columns<kTiles>& columns, int chunk, int (&sums)[kTiles][4],
                                  int (&offsets)[kTiles][4]) {
    const uint32_t codes_g = (low_g >> (2 * s)) & 0x03030303;
    const uint32_t codes_h = (low_h >> (2 * s)) & 0x03030303;
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      const uint4 x = columns.at(n, chunk, kAt / 4);
      const uint32_t b = kAt % 4 == 0 ? x.x : kAt % 4 == 1 ? x.y : kAt % 4 == 2 ? x.z : x.w;
      int c[4];
      half_step(c, codes_g, codes_h, b);
      add_times(sums[n], c, g.step<kAt>(), h.step<kAt>());
      half_step(c, g.offset<kAt>(), h.offset<kAt>(), b);
      add_times(offsets[n], c, 1, 1);
    }
  }
  template <int half, int s, int kTiles>
  __device__ static void both(const uint4& low, const Row& g, const Row& h,
                              const Columns<kTiles>& columns, int chunk, int (&sums)[kTiles][4],
                              int (&offsets)[kTiles][4]) {
    constexpr int kAt = 8 * half + 2 * s;
    one_step<kAt, s>(low.x, low.y, g, h, columns, chunk, sums, offsets);
    one_step<kAt + 1, s>(low.z, low.w, g, h, columns, chunk, sums, offsets);
  }

  template <int kTiles>
  __device__ static void multiply(Shared at, int lane, const Columns<kTiles>& columns, int chunk,
                                  Sums<kTiles>& sums) {
    const Shared codes_at = at + static_cast<Shared>(lane * 16);
    const auto row = static_cast<Shared>(lane / 4);
    const Row g = {load_four(at + 1024 + row * 32)}, h = {load_four(at + 1040 + row * 32)};
    int c[kTiles][4] = {}, offsets[kTiles][4] = {};
    const uint4 first = load_four(codes_at);
    both<0, 0>(first, g, h, columns, chunk, c, offsets);
    both<0, 1>(first, g, h, columns, chunk, c, offsets);
    both<0, 2>(first, g, h, columns, chunk, c, offsets);
    both<0, 3>(first, g, h, columns, chunk, c, offsets);
    const uint4 second = load_four(codes_at + 512);
    both<1, 0>(second, g, h, columns, chunk, c, offsets);
    both<1, 1>(second, g, h, columns, chunk, c, offsets);
    both<1, 2>(second, g, h, columns, chunk, c, offsets);
    both<1, 3>(second, g, h, columns, chunk, c, offsets);
    const uint2 d = load_two(at + 1280 + row * 8);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      add_large(sums.c[n], c[n], low_half(d.x), low_half(d.y));
      add_large(sums.c[n], offsets[n], -high_half(d.x), -high_half(d.y));
    }
  }
};

}  // namespace rota
