// An NVIDIA GPU as a Device. The door of this folder: needs no CUDA header, and is there in builds
// without CUDA, whose answer is that there is none.
#pragma once

#include <memory>

#include "device/device.h"

namespace rota {

// One stream, on which everything runs in the order asked. Row-invariant for passes of any number
// of rows, and the same bits from run to run. kLoad "no CUDA device: ..." with why and what to do.
Result<std::unique_ptr<Device>> make_cuda_device(int index);
// Of the memory of a device that is one of these; others take of it too.
uint64_t cuda_free_bytes(Device& device);

}  // namespace rota
