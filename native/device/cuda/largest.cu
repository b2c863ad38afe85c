// The index of a row's largest value, by a block a row.
#include "device/cuda/best_of.cuh"
#include "device/cuda/early_launch.cuh"
#include "device/cuda/row_ops.cuh"

namespace rota {
namespace {

constexpr int kThreads = 1024, kWarps = kThreads / kWarp;

// NaN is less than all.
__device__ void take(Best& best, float value, int id) {
  const Best other{value == value ? value : -INFINITY, value == value ? id : -1};
  if (best.below(other)) best = other;
}

__global__ void __launch_bounds__(kThreads) largest_kernel(const float* x, int n, int* ids) {
  __shared__ Best found[kWarps];
  take_turn();
  x += static_cast<size_t>(blockIdx.x) * static_cast<size_t>(n);
  Best best{0, -1};
  const int fours = n % 4 == 0 ? n / 4 : 0;  // rows are then aligned to them
#pragma unroll 8
  for (int i = static_cast<int>(threadIdx.x); i < fours; i += kThreads) {
    const float4 v = reinterpret_cast<const float4*>(x)[i];
    take(best, v.x, 4 * i);
    take(best, v.y, 4 * i + 1);
    take(best, v.z, 4 * i + 2);
    take(best, v.w, 4 * i + 3);
  }
  for (int i = 4 * fours + static_cast<int>(threadIdx.x); i < n; i += kThreads) take(best, x[i], i);
  best = best_of_warp(best);
  if (threadIdx.x % kWarp == 0) found[threadIdx.x / kWarp] = best;
  __syncthreads();
  if (threadIdx.x >= kWarp) return;
  best = best_of_warp(found[threadIdx.x]);
  if (threadIdx.x == 0) ids[blockIdx.x] = best.id < 0 ? 0 : best.id;
}

}  // namespace

void launch_largest(LaunchQueue& queue, const float* x, int rows, int n, int* ids) {
  if (rows == 0) return;
  launch_early(queue, largest_kernel, static_cast<unsigned>(rows), kThreads, 0, x, n, ids);
}

}  // namespace rota
