// Rows of floats made into split rows (expert_call.cuh), and the model's e4m3 rounding before. Owns
// where each value goes; by blocks of 256 threads.
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "device/cuda/expert_call.cuh"

namespace rota {

// 2^s and 2^-s of a row whose largest magnitude is at most `largest`.
__device__ __forceinline__ float split_scale(float largest, float* unscale) {
  // Below 2^e; of what is no number any will do.
  const int e = static_cast<int>(__float_as_uint(largest) >> 23 & 255) - 126;
  const int s = min(max(15 - e, -110), 120);
  *unscale = __uint_as_float(static_cast<uint32_t>(127 - s) << 23);
  return __uint_as_float(static_cast<uint32_t>(127 + s) << 23);
}

struct HiLo {
  __half hi, lo;
};
__device__ __forceinline__ HiLo split_value(float scaled) {
  const __half hi = __float2half_rn(scaled);
  return {hi, __float2half_rn((scaled - __half2float(hi)) * (1.f / kLoUnit))};
}

// Value i of a row; `row` are its halves, `scaled` is value * 2^s.
__device__ __forceinline__ void put_split(float scaled, int i, __half* row) {
  const int in_four = i % 4, place = in_four == 1 ? 2 : in_four == 2 ? 1 : in_four;
  __half* at = row + i / 32 * 64 + i % 16 / 4 * 8 + i / 16 % 2 * 4 + place;
  const HiLo value = split_value(scaled);
  at[0] = value.hi;
  at[32] = value.lo;
}

// Four values of 32 that eight neighbouring lanes hold, as formats/numbers.h fake_quant_fp8 rounds
// them.
__device__ __forceinline__ float4 round_e4m3(float4 v, unsigned lanes) {
  float largest = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
  for (int step = 1; step < 8; step *= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(lanes, largest, step));
  }
  const uint32_t bits = __float_as_uint(fmaxf(largest, 1e-4f) * (1.f / 448.f));
  const uint32_t exponent = (bits >> 23 & 255u) + ((bits & 0x7fffffu) != 0 ? 1u : 0u);
  const float scale = __uint_as_float(exponent << 23);
  const auto rounded = [scale](float value) {
    const auto code = __nv_cvt_float_to_fp8(value / scale, __NV_SATFINITE, __NV_E4M3);
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, __NV_E4M3))) * scale;
  };
  return make_float4(rounded(v.x), rounded(v.y), rounded(v.z), rounded(v.w));
}

// The lanes of a warp that are at work where `count` fours are taken 256 at a time.
__device__ __forceinline__ unsigned working_lanes(int i, int count) {
  const int left = count - (i - i % 32);
  return left >= 32 ? 0xffffffffu : (1u << left) - 1;
}

// n a multiple of 32. largest[8] is shared.
template <bool kRound>
__device__ __forceinline__ void split_row(const float* row, int n, uint4* out, float* unscale,
                                          float* largest) {
  const auto* in = reinterpret_cast<const float4*>(row);
  const int thread = static_cast<int>(threadIdx.x), fours = n / 4;
  const auto four = [&](int i) {
    const float4 v = in[i];
    return kRound ? round_e4m3(v, working_lanes(i, fours)) : v;
  };
  float most = 0;
  for (int i = thread; i < fours; i += 256) {
    const float4 v = four(i);
    most = fmaxf(most, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
  }
  for (int step = 16; step > 0; step /= 2) {
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
  }
  if (thread % 32 == 0) largest[thread / 32] = most;
  __syncthreads();
  for (int w = 0; w < 8; ++w) most = fmaxf(most, largest[w]);
  float back;
  const float scale = split_scale(most, &back);
  if (thread == 0) *unscale = back;
  auto* halves = reinterpret_cast<__half*>(out);
  for (int i = thread; i < fours; i += 256) {
    const float4 v = four(i);
    const HiLo a = split_value(v.x * scale), b = split_value(v.y * scale);
    const HiLo c = split_value(v.z * scale), d = split_value(v.w * scale);
    // put_split for four at once.
    auto* at = reinterpret_cast<__half2*>(halves + i / 8 * 64 + i % 4 * 8 + i / 4 % 2 * 4);
    at[0] = __halves2half2(a.hi, c.hi);
    at[1] = __halves2half2(b.hi, d.hi);
    at[16] = __halves2half2(a.lo, c.lo);
    at[17] = __halves2half2(b.lo, d.lo);
  }
}

__device__ __forceinline__ void round_row(float* row, int n) {
  auto* at = reinterpret_cast<float4*>(row);
  const int fours = n / 4;
  for (int i = static_cast<int>(threadIdx.x); i < fours; i += 256) {
    at[i] = round_e4m3(at[i], working_lanes(i, fours));
  }
}

}  // namespace rota
