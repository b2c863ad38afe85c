// One kernel; the last of its blocks raises the count.
#include "device/cuda/landing.cuh"

#include <algorithm>
#include <atomic>

#include "base/check.h"
#include "device/cuda/early_launch.cuh"

namespace rota {
namespace {

constexpr int kThreads = 256;
constexpr size_t kMostBlocks = 64;  // more of them write to the host no faster
constexpr size_t kLine = 64;
constexpr uint32_t kLooksAQuestion = 1u << 16;  // some milliseconds

__global__ void __launch_bounds__(kThreads)
    land_kernel(const uint8_t* from, uint8_t* to, size_t bytes, uint32_t* tickets,
                volatile uint32_t* count) {
  take_turn();
  const size_t first = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  const size_t step = static_cast<size_t>(gridDim.x) * kThreads;
  const bool words = (reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to)) % 4 == 0;
  const size_t whole = words ? bytes / 4 : 0;
  for (size_t i = first; i < whole; i += step) {
    reinterpret_cast<uint32_t*>(to)[i] = reinterpret_cast<const uint32_t*>(from)[i];
  }
  for (size_t i = 4 * whole + first; i < bytes; i += step) to[i] = from[i];
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x != 0 || atomicAdd(&tickets[0], 1u) != gridDim.x - 1) return;
  tickets[0] = 0;
  *count = ++tickets[1];
}

}  // namespace

Result<std::unique_ptr<Landing>> Landing::open(CudaStream& stream, size_t bytes, const char* what) {
  std::unique_ptr<Landing> landing(new Landing(stream));
  landing->bytes_ = (bytes + kLine - 1) / kLine * kLine;
  ROTA_ASSIGN_OR_RETURN(void* memory, stream.allocate_pinned(landing->bytes_ + kLine, what));
  landing->memory_ = static_cast<uint8_t*>(memory);
  *landing->count() = 0;
  void* as_device = nullptr;
  CUDA_CHECK(stream, cudaHostGetDevicePointer(&as_device, memory, 0));
  landing->as_device_ = static_cast<uint8_t*>(as_device);
  ROTA_ASSIGN_OR_RETURN(void* tickets, stream.allocate(2 * sizeof(uint32_t), what));
  landing->tickets_ = static_cast<uint32_t*>(tickets);
  ROTA_RETURN_IF_ERROR(stream.status());
  return Result<std::unique_ptr<Landing>>(std::move(landing));
}

Landing::~Landing() {
  stream_.release(tickets_);
  if (memory_ != nullptr) cudaFreeHost(memory_);
}

void Landing::send(const void* device, size_t offset, size_t bytes) {
  ROTA_CHECK(offset + bytes <= bytes_, "bytes", bytes, "at", offset, "of", bytes_);
  const size_t blocks = (bytes + 4 * kThreads - 1) / (4 * kThreads);
  launch_early(stream_.queue(), land_kernel,
               static_cast<unsigned>(std::clamp<size_t>(blocks, 1, kMostBlocks)), kThreads, 0,
               static_cast<const uint8_t*>(device), as_device_ + offset, bytes, tickets_,
               static_cast<uint32_t*>(static_cast<void*>(as_device_ + bytes_)));
  stream_.note_launch("sending to the host");
  ++sent_;
}

bool Landing::wait() {
  stream_.flush();
  const std::atomic_ref<uint32_t> landed(*count());
  for (uint32_t looks = 1; landed.load(std::memory_order_acquire) != sent_; ++looks) {
    if (looks % kLooksAQuestion != 0) continue;
    const cudaError_t error = cudaStreamQuery(stream_.use());
    if (error == cudaErrorNotReady) continue;
    if (!stream_.note(error, "waiting for the GPU")) return false;
    if (landed.load(std::memory_order_acquire) == sent_) break;
    stream_.note(cudaErrorUnknown, "waiting for what was never sent");
    return false;
  }
  return stream_.status().ok();
}

}  // namespace rota
