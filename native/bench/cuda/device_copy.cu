// 16 bytes a load, four of them in flight a thread.
#include "bench/cuda/device_copy.cuh"

namespace rota {
namespace {

constexpr int kThreads = 256, kEach = 4;

__global__ void copy_kernel(const uint4* from, uint4* to) {
  const uint64_t first = static_cast<uint64_t>(blockIdx.x) * kThreads * kEach + threadIdx.x;
  uint4 held[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) held[i] = from[first + static_cast<uint64_t>(i) * kThreads];
#pragma unroll
  for (int i = 0; i < kEach; ++i) to[first + static_cast<uint64_t>(i) * kThreads] = held[i];
}

}  // namespace

void launch_copy(cudaStream_t stream, const uint8_t* from, uint8_t* to, uint64_t bytes) {
  const auto blocks = static_cast<unsigned>(bytes / (kThreads * kEach * sizeof(uint4)));
  copy_kernel<<<blocks, kThreads, 0, stream>>>(reinterpret_cast<const uint4*>(from),
                                               reinterpret_cast<uint4*>(to));
}

}  // namespace rota
