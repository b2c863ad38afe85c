// Copies between two halves of a buffer that no cache holds, and into it.
#include "probe/cuda/device_probe.h"

#include <algorithm>

#include "device/cuda/device_copy.cuh"

namespace rota {
namespace {

constexpr uint64_t kBufferBytes = uint64_t{1} << 30, kHostBytes = uint64_t{1} << 28;
constexpr int kRounds = 8;

Result<DeviceProbe> measure(CudaStream& stream, uint8_t* memory, const uint8_t* pinned) {
  DeviceProbe probe;
  probe.device = "cuda:" + std::to_string(stream.index()) + " " + stream.device_name();
  probe.buffer_bytes = kBufferBytes;
  constexpr uint64_t kHalf = kBufferBytes / 2;
  for (int round = 0; round <= kRounds; ++round) {
    ROTA_ASSIGN_OR_RETURN(const double copy,
                          copy_bytes_per_s(stream, memory, memory + kHalf, kHalf));
    ROTA_ASSIGN_OR_RETURN(const double from_host,
                          from_host_bytes_per_s(stream, pinned, memory, kHostBytes));
    if (round == 0) continue;
    probe.copy_bytes_per_s = std::max(probe.copy_bytes_per_s, copy);
    probe.from_host_bytes_per_s = std::max(probe.from_host_bytes_per_s, from_host);
  }
  return probe;
}

}  // namespace

Result<DeviceProbe> probe_device(int index) {
  ROTA_ASSIGN_OR_RETURN(const std::unique_ptr<CudaStream> stream, CudaStream::open(index));
  ROTA_ASSIGN_OR_RETURN(void* memory, stream->allocate(kBufferBytes, "probe"));
  void* pinned = nullptr;
  CUDA_CHECK(*stream, cudaMallocHost(&pinned, kHostBytes));
  Result<DeviceProbe> probe = pinned == nullptr ? Result<DeviceProbe>(stream->status())
                                                : measure(*stream, static_cast<uint8_t*>(memory),
                                                          static_cast<uint8_t*>(pinned));
  if (pinned != nullptr) cudaFreeHost(pinned);
  stream->release(memory);
  return probe;
}

}  // namespace rota
