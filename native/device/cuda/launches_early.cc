// What the GPU says of itself, asked once for each.
#include <array>
#include <atomic>

#include "device/cuda/launch_list.cuh"

namespace rota {

bool launches_early() {
  constexpr int kMostDevices = 64;
  enum : signed char { kUnknown, kNo, kYes };
  static std::array<std::atomic<signed char>, kMostDevices> known{};
  int device = 0, major = 0;
  if (cudaGetDevice(&device) != cudaSuccess || device < 0 || device >= kMostDevices) return false;
  std::atomic<signed char>& answer = known[static_cast<size_t>(device)];
  if (answer.load(std::memory_order_relaxed) == kUnknown) {
    const cudaError_t error =
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    answer.store(error == cudaSuccess && major >= 9 ? kYes : kNo, std::memory_order_relaxed);
  }
  return answer.load(std::memory_order_relaxed) == kYes;
}

}  // namespace rota
