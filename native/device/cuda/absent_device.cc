// make_cuda_device of a build without CUDA.
#include "device/cuda/cuda_device.h"

namespace rota {

Result<std::unique_ptr<Device>> make_cuda_device(int) {
  return Status(Code::kLoad,
                "no CUDA device: this build computes on the host only; use --device host");
}

uint64_t cuda_free_bytes(Device&) { return 0; }

}  // namespace rota
