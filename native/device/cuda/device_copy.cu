// 16 bytes a load, four of them in flight a thread.
#include "device/cuda/device_copy.cuh"

#include <algorithm>

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

constexpr uint64_t kBlockBytes = kThreads * kEach * sizeof(uint4);
constexpr int kCopies = 4;

// Seconds on the GPU of what `copy` puts on the stream, kCopies times.
template <typename Copy>
double seconds(CudaStream& stream, const Copy& copy) {
  cudaEvent_t begin = nullptr, end = nullptr;
  CUDA_CHECK(stream, cudaEventCreate(&begin));
  CUDA_CHECK(stream, cudaEventCreate(&end));
  CUDA_CHECK(stream, cudaEventRecord(begin, stream.use()));
  for (int i = 0; i < kCopies; ++i) copy();
  CUDA_CHECK(stream, cudaEventRecord(end, stream.use()));
  CUDA_CHECK(stream, cudaEventSynchronize(end));
  float milliseconds = 0;
  CUDA_CHECK(stream, cudaEventElapsedTime(&milliseconds, begin, end));
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return milliseconds * 1e-3;
}

}  // namespace

Result<double> copy_bytes_per_s(CudaStream& stream, const uint8_t* from, uint8_t* to,
                                uint64_t bytes) {
  const uint64_t blocks = bytes / kBlockBytes, copied = blocks * kBlockBytes;
  const cudaStream_t on = stream.use();
  const double by_kernel = seconds(stream, [&] {
    copy_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, on>>>(
        reinterpret_cast<const uint4*>(from), reinterpret_cast<uint4*>(to));
  });
  const double by_cuda = seconds(stream, [&] {
    CUDA_CHECK(stream, cudaMemcpyAsync(to, from, copied, cudaMemcpyDeviceToDevice, on));
  });
  ROTA_RETURN_IF_ERROR(stream.status());
  return 2.0 * kCopies * static_cast<double>(copied) / std::min(by_kernel, by_cuda);
}

Result<double> from_host_bytes_per_s(CudaStream& stream, const uint8_t* host, uint8_t* to,
                                     uint64_t bytes) {
  const cudaStream_t on = stream.use();
  const double taken = seconds(stream, [&] {
    CUDA_CHECK(stream, cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, on));
  });
  ROTA_RETURN_IF_ERROR(stream.status());
  return kCopies * static_cast<double>(bytes) / taken;
}

}  // namespace rota
