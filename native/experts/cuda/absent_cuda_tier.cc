// The device tier of a build without CUDA.
#include "experts/cuda/cuda_tier.h"

namespace rota {

Result<std::unique_ptr<DeviceTier>> make_cuda_tier(Device&, const DeviceTierNeeds&) {
  return Status(Code::kLoad, "no CUDA device: this build computes on the host only");
}

uint64_t cuda_tier_scratch_bytes(const ExpertShape&, uint64_t) { return 0; }

}  // namespace rota
