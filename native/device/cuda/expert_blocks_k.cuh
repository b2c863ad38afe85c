// The blocks of 256 weights in sub-blocks of 16: a step of the tensor cores is one sub-block.
#pragma once

#include "device/cuda/expert_blocks.cuh"

namespace rota {

// Two bits a weight: of every byte the four fields are steps s = 0 .. 3 of its half. 1024 + code *
// 4^s to the code less `zero`.
template <int s>
__device__ __forceinline__ uint32_t field(uint32_t bits, uint32_t mask, int zero) {
  constexpr float kUnit = s == 0 ? 1.f : s == 1 ? 0.25f : s == 2 ? 0.0625f : 0.015625f;
  constexpr uint32_t kFactor = twice(kUnit);
  return scaled(picked(bits, mask, kMagic), kFactor,
                zero == 0 ? twice(-1024 * kUnit) : twice(-1024 * kUnit - 4));
}

// Byte `at` of a word, an integer, in both halves; less `zero`.
__device__ __forceinline__ uint32_t spread_byte(uint32_t word, int at, uint32_t zero) {
  const auto selector = static_cast<uint32_t>(at | 0x40 | (at << 8) | 0x4000);
  return less(__byte_perm(word, 0x64646464, selector), zero);
}

template <>
struct ExpertBlock<Format::kQ3_K> {
  static constexpr int kBytes = 110, kGroups = 8, kPiece = 2;
  static constexpr float kFactor = 1;

  // The sixteen scales as bytes 0 .. 63 (32 more than they are), scale k in byte k % 4 of word k
  // / 4.
  struct Scales {
    uint32_t word[4];
    __device__ explicit Scales(Shared p) {
      const Words words(p);
      const uint32_t low = words.at(0), high = words.at(4), top = words.at(8);
      constexpr uint32_t kLow = 0x0f0f0f0f, kTop = 0x30303030;
      word[0] = (low & kLow) | ((top << 4) & kTop);
      word[1] = (high & kLow) | ((top << 2) & kTop);
      word[2] = ((low >> 4) & kLow) | (top & kTop);
      word[3] = ((high >> 4) & kLow) | ((top >> 2) & kTop);
    }
    __device__ uint32_t of(int k) const {
      constexpr uint32_t kZero = twice(1056);
      return spread_byte(word[k / 4], k % 4, kZero);
    }
  };

  // The codes of four bytes of qs with their high bits, for four steps. Three bits of a code are
  // put side by side: fields of steps 0 and 2, and of 1 and 3, do not touch.
  struct Codes {
    uint32_t even02, even13, odd02, odd13;
    // high: bit s of each byte is step s's.
    __device__ Codes(uint32_t low, uint32_t high) {
      high = (high | (high << 2)) & 0x33333333;
      high = (high | (high << 1)) & 0x55555555;  // bit 2s
      const uint32_t low_odd = low >> 8, up = high << 2, up_odd = high >> 6;
      even02 = (low & 0x00330033) | (up & 0x00440044);
      even13 = (low & 0x00cc00cc) | (up & 0x01100110);
      odd02 = (low_odd & 0x00330033) | (up_odd & 0x00440044);
      odd13 = (low_odd & 0x00cc00cc) | (up_odd & 0x01100110);
    }
    template <int s>
    __device__ void take(uint32_t scale, uint32_t (&a)[4], int row) const {
      constexpr uint32_t kMask = 0x00070007u << (2 * s);
      a[row] = times(field<s>(s % 2 == 0 ? even02 : even13, kMask, 4), scale);
      a[row + 2] = times(field<s>(s % 2 == 0 ? odd02 : odd13, kMask, 4), scale);
    }
  };

  template <int s, int kTiles>
  __device__ static void one_step(const Codes& g0, const Codes& g1, const Codes& h0,
                                  const Codes& h1, const Scales& sg, const Scales& sh, int half,
                                  const Columns<kTiles>& columns, int group, Sums<kTiles>& block) {
    uint32_t first[4], second[4];
    const int k = 8 * half + 2 * s;
    g0.take<s>(sg.of(k), first, 0);
    h0.take<s>(sh.of(k), first, 1);
    g1.take<s>(sg.of(k + 1), second, 0);
    h1.take<s>(sh.of(k + 1), second, 1);
    group_steps(block, columns, group + 4 * half + s, first, second);
  }

  template <int kTiles>
  __device__ static void multiply(Shared g, Shared h, int t, const Columns<kTiles>& columns,
                                  int group, Sums<kTiles>& sums) {
    const Scales sg(g + 96), sh(h + 96);
    const Words of_g(g + 4 * t), of_h(h + 4 * t);
    const uint32_t mask_g[2] = {of_g.at(0), of_g.at(16)}, mask_h[2] = {of_h.at(0), of_h.at(16)};
    Sums<kTiles> block;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto codes = [&](const Words& row, uint32_t mask, int u) {
        return Codes(row.at(32 + 32 * half + 16 * u), (mask >> (4 * half)) & 0x0f0f0f0f);
      };
      const Codes g0 = codes(of_g, mask_g[0], 0), g1 = codes(of_g, mask_g[1], 1);
      const Codes h0 = codes(of_h, mask_h[0], 0), h1 = codes(of_h, mask_h[1], 1);
      one_step<0>(g0, g1, h0, h1, sg, sh, half, columns, group, block);
      one_step<1>(g0, g1, h0, h1, sg, sh, half, columns, group, block);
      one_step<2>(g0, g1, h0, h1, sg, sh, half, columns, group, block);
      one_step<3>(g0, g1, h0, h1, sg, sh, half, columns, group, block);
    }
    add_scaled(sums, block, load_half(g + 108), load_half(h + 108));
  }
};

template <>
struct ExpertBlock<Format::kQ2_K> {
  static constexpr int kBytes = 84, kGroups = 8, kPiece = 2;
  static constexpr float kFactor = 1;

  // One step of 16 weights: codes times their sub-block's step into `block`, its offset alone into
  // `offsets`.
  template <int s, int kTiles>
  __device__ static void one_step(const uint32_t (&low)[4], const uint32_t (&scale)[2], int at,
                                  const Columns<kTiles>& columns, int group, int u,
                                  Sums<kTiles>& block, Sums<kTiles>& offsets) {
    constexpr uint32_t kMask = 0x00030003u << (2 * s), kZero = twice(1024);
    uint32_t a[4], m[4];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const uint32_t step_size = spread_byte(scale[row] & 0x0f0f0f0f, at, kZero);
      a[row] = times(field<s>(low[2 * u + row], kMask, 0), step_size);
      a[row + 2] = times(field<s>(low[2 * u + row] >> 8, kMask, 0), step_size);
      m[row] = m[row + 2] = spread_byte((scale[row] >> 4) & 0x0f0f0f0f, at, kZero);
    }
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      const uint4 b = columns.group(n, group);
      step(block.c[n], a, u == 0 ? b.x : b.z, u == 0 ? b.y : b.w);
      step(offsets.c[n], m, u == 0 ? b.x : b.z, u == 0 ? b.y : b.w);
    }
  }

  template <int kTiles>
  __device__ static void multiply(Shared g, Shared h, int t, const Columns<kTiles>& columns,
                                  int group, Sums<kTiles>& sums) {
    Sums<kTiles> block, offsets;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Shared qg = g + 16 + 32 * half + 4 * t, qh = h + 16 + 32 * half + 4 * t;
      const uint32_t low[4] = {load_word(qg), load_word(qh), load_word(qg + 16),
                               load_word(qh + 16)};
      const auto two = [&](auto s) {  // steps s and their sub-blocks 2s, 2s + 1 of the half
        constexpr int kStep = decltype(s)::value;
        const uint32_t scale[2] = {load_word(g + 8 * half + 4 * (kStep / 2)),
                                   load_word(h + 8 * half + 4 * (kStep / 2))};
        const int at = kStep % 2 * 2, q = group + 4 * half + kStep;
        one_step<kStep>(low, scale, at, columns, q, 0, block, offsets);
        one_step<kStep>(low, scale, at + 1, columns, q, 1, block, offsets);
      };
      two(Step<0>());
      two(Step<1>());
      two(Step<2>());
      two(Step<3>());
    }
    add_scaled(sums, block, load_half(g + 80), load_half(h + 80));
    add_scaled(sums, offsets, -load_half(g + 82), -load_half(h + 82));
  }

 private:
  template <int s>
  struct Step {
    static constexpr int value = s;
  };
};

}  // namespace rota
