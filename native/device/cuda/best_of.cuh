// The larger of two candidates, the lower of equals. Device code alone.
#pragma once

#include "device/cuda/reduce.cuh"

namespace rota {

struct Best {
  float value;
  int id;  // -1: none
  __device__ bool below(const Best& other) const {
    if (other.id < 0) return false;
    return id < 0 || other.value > value || (other.value == value && other.id < id);
  }
};

// All lanes get it.
__device__ __forceinline__ Best best_of_warp(Best best) {
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) {
    const Best other{__shfl_xor_sync(kAllLanes, best.value, step),
                     __shfl_xor_sync(kAllLanes, best.id, step)};
    if (best.below(other)) best = other;
  }
  return best;
}

}  // namespace rota
