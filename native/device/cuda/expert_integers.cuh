// Rows of floats made into integer rows and digit rows (expert_call.cuh), and the model's e4m3
// rounding before. Owns where each value goes; a warp takes a chunk.
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "device/cuda/expert_call.cuh"

namespace rota {

constexpr int kIntegerWarps = 4;  // of a block

// Four neighbouring values in four integers, by planes: word p of the answer has plane p's bytes.
__device__ __forceinline__ uint4 planes_of(int4 n) {
  // A byte's sign is taken from the one above by adding 128 to each but the top one.
  const auto signed_bytes = [](int v) {
    return (static_cast<uint32_t>(v) + 0x00808080u) ^ 0x00808080u;
  };
  const uint32_t a = signed_bytes(n.x), b = signed_bytes(n.y);
  const uint32_t c = signed_bytes(n.z), d = signed_bytes(n.w);
  const uint32_t ab_high = __byte_perm(a, b, 0x6273), cd_high = __byte_perm(c, d, 0x6273);
  const uint32_t ab_low = __byte_perm(a, b, 0x4051), cd_low = __byte_perm(c, d, 0x4051);
  return make_uint4(__byte_perm(ab_high, cd_high, 0x5410), __byte_perm(ab_high, cd_high, 0x7632),
                    __byte_perm(ab_low, cd_low, 0x5410), __byte_perm(ab_low, cd_low, 0x7632));
}

// Word `index` of 64 of a chunk: of step j = index / 8 the words 4t .. and 16 + 4t .. of all lanes.
__device__ __forceinline__ void put_planes(int4 n, int index, uint4* chunk) {
  const int j = index / 8, b = index / 4 % 2, t = index % 4;
  auto* at = reinterpret_cast<uint32_t*>(chunk + j / 2 * 16 + t) + j % 2 * 2 + b;
  const uint4 planes = planes_of(n);
  at[0] = planes.x;
  at[16] = planes.y;
  at[32] = planes.z;
  at[48] = planes.w;
}

// 2^s and 2^-s of a chunk whose largest magnitude has these bits: below 2^28, and 2^27 at least
// where fp32 can say so. Of what is no number, none.
__device__ __forceinline__ float integer_scale(uint32_t largest, float* unscale) {
  const int s = min(28 - (static_cast<int>(largest >> 23) - 126), 126);
  *unscale = largest >= 0x7f800000u ? __uint_as_float(0x7fc00000u)
                                    : __uint_as_float(static_cast<uint32_t>(127 - s) << 23);
  return __uint_as_float(static_cast<uint32_t>(127 + s) << 23);
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

// Word `index` of a digit row's chunk: values at `place` of a chunk of integers, less three times
// those one digit on.
struct DigitWord {
  int place[4], next[4];  // next -1: that was a byte's last digit
  __device__ explicit DigitWord(int index) {
    const int begin = index / 32 * 128, word = index % 32 / 4, t = index % 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (word < 5) {
        place[i] = begin + 16 * word + 4 * t + i;
        next[i] = word < 4 ? place[i] + 16 : -1;
      } else if (word < 7 || i < 2) {
        const int digit = 2 * (word - 5) + i / 2;
        place[i] = begin + 80 + 8 * digit + 2 * t + i % 2;
        next[i] = digit < 4 ? place[i] + 8 : -1;
      } else {
        place[i] = begin + 120 + 2 * t + i % 2;
        next[i] = t < 3 ? place[i] + 2 : -1;
      }
    }
  }
  __device__ int4 of(const int* n) const {
    const auto value = [&](int i) { return n[place[i]] - (next[i] < 0 ? 0 : 3 * n[next[i]]); };
    return make_int4(value(0), value(1), value(2), value(3));
  }
};

// The planes of a sum that is too large for an int: the lowest three as ever, the rest in one.
__device__ __forceinline__ int4 sum_planes(long long sum) {
  int low[3];
#pragma unroll
  for (int& p : low) {
    p = static_cast<int8_t>(sum & 255);
    sum = (sum - p) >> 8;
  }
  return make_int4(static_cast<int>(sum), low[2], low[1], low[0]);
}

// n[256] is shared, of this warp.
__device__ __forceinline__ void put_digits(const int* n, int lane, uint4* chunk) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int index = 32 * half + lane;
    put_planes(DigitWord(index).of(n), index, chunk);
    long long sum = 0;
    for (int i = lane; i < 128; i += 32) sum -= n[128 * half + i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane == 0) reinterpret_cast<int4*>(chunk)[kChunkVectors + half] = sum_planes(sum);
  }
}

// By a whole warp: chunk number `chunk` of all rows, row[256] its values.
template <bool kRound>
__device__ __forceinline__ void put_chunk(const float* row, size_t chunk, const IntegerRows& out,
                                          int* shared) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const auto* in = reinterpret_cast<const float4*>(row);
  float4 v[2] = {in[lane], in[32 + lane]};
  uint32_t largest = 0;
#pragma unroll
  for (float4& four : v) {
    if (kRound) four = round_e4m3(four, 0xffffffffu);
    for (const float value : {four.x, four.y, four.z, four.w}) {
      largest = max(largest, __float_as_uint(value) & 0x7fffffffu);
    }
  }
  largest = __reduce_max_sync(0xffffffffu, largest);
  float unscale;
  const float scale = integer_scale(largest, &unscale);
  if (lane == 0) out.unscale[chunk] = unscale;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int4 n = make_int4(__float2int_rn(v[i].x * scale), __float2int_rn(v[i].y * scale),
                             __float2int_rn(v[i].z * scale), __float2int_rn(v[i].w * scale));
    if (out.words != nullptr) put_planes(n, 32 * i + lane, out.words + chunk * kChunkVectors);
    reinterpret_cast<int4*>(shared)[32 * i + lane] = n;
  }
  if (out.digits == nullptr) return;
  __syncwarp();
  put_digits(shared, lane, out.digits + chunk * kDigitVectors);
}

// The lanes of a warp that are at work where `count` fours are taken 256 at a time.
__device__ __forceinline__ unsigned working_lanes(int i, int count) {
  const int left = count - (i - i % 32);
  return left >= 32 ? 0xffffffffu : (1u << left) - 1;
}

// By a block of 256 threads, in place.
__device__ __forceinline__ void round_row(float* row, int n) {
  auto* at = reinterpret_cast<float4*>(row);
  const int fours = n / 4;
  for (int i = static_cast<int>(threadIdx.x); i < fours; i += 256) {
    at[i] = round_e4m3(at[i], working_lanes(i, fours));
  }
}

}  // namespace rota
