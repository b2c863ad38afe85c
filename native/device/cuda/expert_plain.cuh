// A weight row times a row of floats, weight by weight, for the formats that have no codes small
// enough for the tensor cores, and for experts that mix them with others. Exact to fp32 sums; far
// from the memory's speed.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "formats/block.h"

namespace rota {

__device__ __forceinline__ float plain_half(const uint8_t* p) {
  return __half2float(__ushort_as_half(static_cast<uint16_t>(p[0] | (p[1] << 8))));
}

__device__ __forceinline__ float plain_e8m0(uint8_t e) {
  return e == 255 ? __uint_as_float(0x7fc00000u)
         : e == 0 ? 0x1p-127f
                  : __uint_as_float(static_cast<uint32_t>(e) << 23);
}

__device__ __forceinline__ float plain_q3_k(const uint8_t* p, int w) {
  const int half = w / 128, at = w % 32, s = w % 128 / 32, k = w / 16;
  const int low = (p[32 + 32 * half + at] >> (2 * s)) & 3;
  const int high = (p[at] >> (4 * half + s)) & 1;
  const uint8_t* scales = p + 96;
  const int scale = (k < 8 ? scales[k] & 15 : scales[k - 8] >> 4) |
                    (((scales[8 + k % 4] >> (2 * (k / 4))) & 3) << 4);
  return plain_half(p + 108) * static_cast<float>((scale - 32) * (high != 0 ? low : low - 4));
}

__device__ __forceinline__ float plain_ptq1_0(const uint8_t* p, int w) {
  const int byte = w < 80 ? w % 16 : w < 120 ? 16 + (w - 80) % 8 : 24 + (w - 120) % 2;
  int digit = w < 80 ? w / 16 : w < 120 ? (w - 80) / 8 : (w - 120) / 2;
  uint32_t value = p[byte];
  for (; digit > 0; --digit) value = value * 3 & 255;
  return plain_half(p + 26) * static_cast<float>(static_cast<int>(value * 3 >> 8) - 1);
}

// Weight i of a row.
__device__ inline float plain_weight(Format format, const uint8_t* row, int i) {
  switch (format) {
    case Format::kF32:
      return __uint_as_float(row[4 * i] | row[4 * i + 1] << 8 | row[4 * i + 2] << 16 |
                             static_cast<uint32_t>(row[4 * i + 3]) << 24);
    case Format::kF16:
      return plain_half(row + 2 * i);
    case Format::kBF16:
      return __uint_as_float(static_cast<uint32_t>(row[2 * i] | row[2 * i + 1] << 8) << 16);
    case Format::kQ8_0: {
      const uint8_t* p = row + i / 32 * 34;
      return plain_half(p) * static_cast<float>(static_cast<int8_t>(p[2 + i % 32]));
    }
    case Format::kQ2_0: {
      const uint8_t* p = row + i / 64 * 18;
      const int code = (p[2 + i % 64 / 4] >> (2 * (i % 4))) & 3;
      return plain_half(p) * static_cast<float>(code - 1);
    }
    case Format::kQ2_K: {
      const uint8_t* p = row + i / 256 * 84;
      const int w = i % 256, code = (p[16 + 32 * (w / 128) + w % 32] >> (w % 128 / 32 * 2)) & 3;
      const int scale = p[w / 16];
      return plain_half(p + 80) * static_cast<float>((scale & 15) * code) -
             plain_half(p + 82) * static_cast<float>(scale >> 4);
    }
    case Format::kQ3_K:
      return plain_q3_k(row + i / 256 * 110, i % 256);
    case Format::kPTQ1_0:
      return plain_ptq1_0(row + i / 128 * 28, i % 128);
    case Format::kMXFP4: {
      const uint8_t* p = row + i / 32 * 17;
      const int code = i % 32 < 16 ? p[1 + i % 16] & 15 : p[1 + i % 16] >> 4;
      const int rest = code & 7;
      const float size = rest < 2 ? 0.5f * static_cast<float>(rest)
                                  : static_cast<float>((2 + (rest & 1)) << (rest / 2 - 1)) * 0.5f;
      return plain_e8m0(p[0]) * (code < 8 ? size : -size);
    }
    case Format::kMXFP8: {
      const uint8_t* p = row + i / 32 * 33;
      const __half_raw value = __nv_cvt_fp8_to_halfraw(p[1 + i % 32], __NV_E4M3);
      return plain_e8m0(p[0]) * __half2float(__half(value));
    }
    default:
      return 0;
  }
}

__device__ __forceinline__ size_t plain_row_bytes(Format format, int k) {
  const auto n = static_cast<size_t>(k);
  switch (format) {
    case Format::kF32:
      return n * 4;
    case Format::kQ8_0:
      return n / 32 * 34;
    case Format::kQ2_0:
      return n / 64 * 18;
    case Format::kQ2_K:
      return n / 256 * 84;
    case Format::kQ3_K:
      return n / 256 * 110;
    case Format::kPTQ1_0:
      return n / 128 * 28;
    case Format::kMXFP4:
      return n / 32 * 17;
    case Format::kMXFP8:
      return n / 32 * 33;
    default:
      return n * 2;  // F16, BF16
  }
}

// By a whole warp: lane l sums weights l, l + 32, ..; then a tree. Every lane has the sum.
__device__ inline float plain_dot(Format format, const uint8_t* matrix, int row, int k,
                                  const float* x) {
  const uint8_t* weights = matrix + static_cast<size_t>(row) * plain_row_bytes(format, k);
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x % 32); i < k; i += 32) {
    sum = fmaf(plain_weight(format, weights, i), x[i], sum);
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  return sum;
}

// Formats that the tensor cores' kernels do not take.
__host__ __device__ constexpr bool is_plain(Format format) {
  return format == Format::kF32 || format == Format::kBF16 || format == Format::kMXFP8;
}

}  // namespace rota
