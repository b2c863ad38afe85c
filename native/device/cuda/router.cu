// A block a row: scores into shared memory, then one expert after the other by a warp's search for
// the best.
#include "device/cuda/router.cuh"

#include <cstdint>

#include "device/cuda/best_of.cuh"
#include "device/cuda/early_launch.cuh"

namespace rota {
namespace {

constexpr int kThreads = 256;

// host/row_ops.cc's; softplus is 0 for what is very negative, so scores are at least 0.
__device__ float score_of(float logit) {
  return sqrtf(logit > 20.0f ? logit : log1pf(expf(logit)));
}

// Shared: scores and biased scores [experts] each, the chosen [top_k], then a byte for each expert:
// 1 = chosen.
size_t shared_bytes(int experts, int top_k) {
  return static_cast<size_t>(experts) * (2 * sizeof(float) + 1) +
         static_cast<size_t>(top_k) * sizeof(uint16_t);
}

__global__ void route_kernel(const float* logits, const float* bias, const float* selection_bias,
                             int experts, int top_k, float route_scale, int* ids, float* weights) {
  extern __shared__ float scores[];
  float* biased = scores + experts;
  uint16_t* best_ids = reinterpret_cast<uint16_t*>(biased + experts);
  uint8_t* chosen = reinterpret_cast<uint8_t*>(best_ids + top_k);
  take_turn();
  logits += static_cast<size_t>(blockIdx.x) * static_cast<size_t>(experts);
  ids += static_cast<size_t>(blockIdx.x) * static_cast<size_t>(top_k);
  weights += static_cast<size_t>(blockIdx.x) * static_cast<size_t>(top_k);
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += kThreads) {
    scores[e] = score_of(logits[e]);
    biased[e] = scores[e] + bias[e] + (selection_bias != nullptr ? selection_bias[e] : 0.f);
    chosen[e] = 0;
  }
  __syncthreads();
  if (threadIdx.x >= kWarp) return;
  const int lane = static_cast<int>(threadIdx.x);
  float total = 0;
  for (int k = 0; k < top_k; ++k) {
    Best best{0, -1};
    for (int e = lane; e < experts; e += kWarp) {
      const Best other{biased[e], e};
      if (chosen[e] == 0 && best.below(other)) best = other;
    }
    best = best_of_warp(best);
    total += scores[best.id];
    if (lane == 0) chosen[best.id] = 1, best_ids[k] = static_cast<uint16_t>(best.id);
    __syncwarp();
  }
  for (int k = lane; k < top_k; k += kWarp) {
    ids[k] = best_ids[k];
    weights[k] = scores[best_ids[k]] / (total + 1e-20f) * route_scale;
  }
}

}  // namespace

void launch_route(LaunchQueue& queue, const float* logits, const float* bias,
                  const float* selection_bias, int rows, int experts, int top_k, float route_scale,
                  int* ids, float* weights) {
  if (rows == 0) return;
  launch_early(queue, route_kernel, static_cast<unsigned>(rows), kThreads,
               shared_bytes(experts, top_k), logits, bias, selection_bias, experts, top_k,
               route_scale, ids, weights);
}

}  // namespace rota
