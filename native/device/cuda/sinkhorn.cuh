// The coefficients of one row by one warp: sigmoids, and the matrix balanced by Sinkhorn's
// iterations (V4.1 reference 2.2). Device code alone.
#pragma once

#include "device/cuda/reduce.cuh"
#include "device/device.h"

namespace rota {

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// z[n, n] in shared memory, by one warp: every line's sum is taken by one lane, in order.
struct Sinkhorn {
  float* z;     // shared, [n, n]
  float* sums;  // shared, [n]
  int n;
  float eps;

  // Adds up what stands `step` apart from line * line_step, then divides each element by its
  // line's.
  __device__ void normalise(int lane, int line_step, int step) {
    if (lane < n) {
      float sum = 0;
      for (int i = 0; i < n; ++i) sum += z[lane * line_step + i * step];
      sums[lane] = sum + eps;
    }
    __syncwarp();
    for (int i = lane; i < n * n; i += kWarp) z[i] /= sums[line_step == 1 ? i % n : i / n];
    __syncwarp();
  }
  __device__ void columns(int lane) { normalise(lane, 1, n); }
  __device__ void rows(int lane) { normalise(lane, n, 1); }

  __device__ void softmax_rows(int lane) {
    if (lane < n) {
      float* row = z + lane * n;
      float largest = row[0], sum = 0;
      for (int k = 1; k < n; ++k) largest = fmaxf(largest, row[k]);
      for (int k = 0; k < n; ++k) sum += row[k] = expf(row[k] - largest);
      for (int k = 0; k < n; ++k) row[k] = row[k] / sum + eps;
    }
    __syncwarp();
  }

  // Of a matrix of four: its entries stay in the registers of 16 lanes.
  __device__ void balance_four(int lane, int iters) {
    float value = lane < 16 ? z[lane] : 0.f;
    const auto divide = [&](int first, int step) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) sum += __shfl_sync(kAllLanes, value, first + i * step);
      value = __fdividef(value, sum + eps);  // the sums are no extremes
    };
    divide(lane % 4, 4);
    for (int i = 1; i < iters; ++i) {
      divide(lane / 4 * 4 % 16, 1);
      divide(lane % 4, 4);
    }
    if (lane < 16) z[lane] = value;
    __syncwarp();
  }

  __device__ void balance(int lane, int iters) {
    softmax_rows(lane);
    if (n == 4) return balance_four(lane, iters);
    columns(lane);
    for (int i = 1; i < iters; ++i) {
      rows(lane);
      columns(lane);
    }
  }
};

struct Coefficients {
  float *pre, *post, *comb;
};

// Of row blockIdx.x, by one warp; mix is the row's own. z [n, n] and sums [n] are shared.
__device__ __forceinline__ void put_coefficients(const HcParams& params, float mean,
                                                 const float* mix, const float* base,
                                                 const float* scale, float* z, float* sums,
                                                 const Coefficients& out) {
  const int n = params.mult, lane = static_cast<int>(threadIdx.x) % kWarp;
  const size_t row = blockIdx.x;
  const float norm = 1.0f / sqrtf(mean + params.rms_eps);
  if (lane < n) {
    const size_t at = row * static_cast<size_t>(n) + static_cast<size_t>(lane);
    out.pre[at] = sigmoid(mix[lane] * norm * scale[0] + base[lane]) + params.hc_eps;
    out.post[at] = 2.0f * sigmoid(mix[n + lane] * norm * scale[1] + base[n + lane]);
  }
  for (int i = lane; i < n * n; i += kWarp) {
    z[i] = mix[2 * n + i] * norm * scale[2] + base[2 * n + i];
  }
  __syncwarp();
  Sinkhorn{z, sums, n, params.hc_eps}.balance(lane, params.sinkhorn_iters);
  for (int i = lane; i < n * n; i += kWarp)
    out.comb[row * static_cast<size_t>(n * n) + static_cast<size_t>(i)] = z[i];
}

}  // namespace rota
