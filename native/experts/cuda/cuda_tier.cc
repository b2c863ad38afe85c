// The door to tier_streams.cuh.
#include "experts/cuda/cuda_tier.h"

#include "device/cuda/cuda_device.cuh"
#include "experts/cuda/tier_streams.cuh"

namespace rota {

Result<std::unique_ptr<DeviceTier>> make_cuda_tier(Device& device, const DeviceTierNeeds& needs) {
  ROTA_ASSIGN_OR_RETURN(auto tier, CudaTier::create(stream_of(device), needs));
  return std::unique_ptr<DeviceTier>(std::move(tier));
}

uint64_t cuda_tier_scratch_bytes(const ExpertShape& shape, uint64_t staged_bytes) {
  return CudaTier::scratch_bytes(shape, staged_bytes);
}

}  // namespace rota
