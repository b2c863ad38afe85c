// Sums over a warp and a block in one order, whatever else runs: trees of fixed shape, no atomics.
// Device code alone.
#pragma once

namespace rota {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

// Every lane gets the sum.
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}

// Of `width` neighbouring lanes, a power of two.
template <int width>
__device__ __forceinline__ float lanes_max(float value) {
#pragma unroll
  for (int step = width / 2; step > 0; step /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, step));
  }
  return value;
}

// Every thread of a block of kThreads gets the sum; all of them must call. `shared` has kThreads /
// 32 floats, which a later call may use again.
template <int kThreads>
__device__ __forceinline__ float block_sum(float value, float* shared) {
  constexpr int kWarps = kThreads / kWarp;
  value = warp_sum(value);
  __syncthreads();
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = value;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum += shared[w];
  return sum;
}

}  // namespace rota
