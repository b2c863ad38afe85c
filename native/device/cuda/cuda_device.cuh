// What other rooms' CUDA halves need of the device that make_cuda_device made.
#pragma once

#include "device/cuda/cuda_stream.cuh"
#include "device/device.h"

namespace rota {

// The stream on which all that is asked of the device runs.
CudaStream& stream_of(Device& device);

}  // namespace rota
