// The device tier of an NVIDIA GPU: slots in its memory, computed there while the CPU pool computes
// what lies in the arena. The door of this folder: needs no CUDA header.
#pragma once

#include "device/device.h"
#include "experts/device_tier.h"

namespace rota {

// Of `device`, which make_cuda_device made and which must outlive it. kOutOfMemory names what was
// asked, what is free, and the knob; kLoad in builds without CUDA.
Result<std::unique_ptr<DeviceTier>> make_cuda_tier(Device& device, const DeviceTierNeeds& needs);

// Of its memory, without the slots: what the kernels need, and places for copies and a victim.
uint64_t cuda_tier_scratch_bytes(const ExpertShape& shape, uint64_t staged_bytes);

}  // namespace rota
