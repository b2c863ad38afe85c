// A weight row times a row of floats, weight by weight, for matrices that are not laid out for the
// tensor cores (expert_layout.cuh), and for experts that mix them with others. Exact to fp32 sums;
// far from the memory's speed.
#pragma once

#include "device/cuda/reduce.cuh"
#include "device/cuda/weight_at.cuh"

namespace rota {

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
    sum = fmaf(gpu::weight_at(format, weights, static_cast<size_t>(i)), x[i], sum);
  }
  return warp_sum(sum);
}

}  // namespace rota
