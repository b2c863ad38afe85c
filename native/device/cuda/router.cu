// A block a row: scores into shared memory, then one expert after the other by a search for the
// best.
#include "device/cuda/router.cuh"

#include <cstdint>

#include "device/cuda/reduce.cuh"

namespace rota {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;

// host/row_ops.cc's; softplus is 0 for what is very negative, so scores are at least 0.
__device__ float score_of(float logit) {
  return sqrtf(logit > 20.0f ? logit : log1pf(expf(logit)));
}

struct Best {
  float value;
  int id;  // -1: none
  __device__ bool below(const Best& other) const {
    if (other.id < 0) return false;
    return id < 0 || other.value > value || (other.value == value && other.id < id);
  }
};

__device__ Best best_of_warp(Best best) {
  for (int step = kWarp / 2; step > 0; step /= 2) {
    const Best other{__shfl_xor_sync(kAllLanes, best.value, step),
                     __shfl_xor_sync(kAllLanes, best.id, step)};
    if (best.below(other)) best = other;
  }
  return best;
}

// Shared: biased scores [experts], then a byte for each: 1 = chosen.
__global__ void route_kernel(const float* logits, const float* bias, const float* selection_bias,
                             int experts, int top_k, float route_scale, int* ids, float* weights) {
  extern __shared__ float biased[];
  uint8_t* chosen = reinterpret_cast<uint8_t*>(biased + experts);
  __shared__ Best found[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp;
  logits += static_cast<size_t>(blockIdx.x) * static_cast<size_t>(experts);
  ids += static_cast<size_t>(blockIdx.x) * static_cast<size_t>(top_k);
  weights += static_cast<size_t>(blockIdx.x) * static_cast<size_t>(top_k);
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += kThreads) {
    biased[e] =
        score_of(logits[e]) + bias[e] + (selection_bias != nullptr ? selection_bias[e] : 0.f);
    chosen[e] = 0;
  }
  float total = 0;
  for (int k = 0; k < top_k; ++k) {
    __syncthreads();
    Best best{0, -1};
    for (int e = static_cast<int>(threadIdx.x); e < experts; e += kThreads) {
      const Best other{biased[e], e};
      if (chosen[e] == 0 && best.below(other)) best = other;
    }
    best = best_of_warp(best);
    if (lane == 0) found[warp] = best;
    __syncthreads();
    for (int w = 0; w < kWarps; ++w) {
      if (best.below(found[w])) best = found[w];
    }
    if (threadIdx.x != 0) continue;
    chosen[best.id] = 1;
    const float score = score_of(logits[best.id]);
    ids[k] = best.id;
    weights[k] = score;
    total += score;
  }
  if (threadIdx.x != 0) return;
  for (int k = 0; k < top_k; ++k) weights[k] = weights[k] / (total + 1e-20f) * route_scale;
}

}  // namespace

void launch_route(cudaStream_t stream, const float* logits, const float* bias,
                  const float* selection_bias, int rows, int experts, int top_k, float route_scale,
                  int* ids, float* weights) {
  if (rows == 0) return;
  route_kernel<<<static_cast<unsigned>(rows), kThreads,
                 static_cast<size_t>(experts) * (sizeof(float) + 1), stream>>>(
      logits, bias, selection_bias, experts, top_k, route_scale, ids, weights);
}

}  // namespace rota
