// The device tier of a host: slots are RAM, a copy to the device is a copy, and the CPU pool
// computes everything on the same kernels, so that an expert's bits are the same in every tier.
#pragma once

#include "experts/device_tier.h"

namespace rota {

// kOutOfMemory names the bytes.
Result<std::unique_ptr<DeviceTier>> make_ram_tier(const DeviceTierNeeds& needs);

}  // namespace rota
