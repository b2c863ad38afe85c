// A copy within a GPU's memory by a kernel: what its memory can do. Owns the kernel.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace rota {

// bytes a multiple of 64 KiB; both addresses multiples of 16.
void launch_copy(cudaStream_t stream, const uint8_t* from, uint8_t* to, uint64_t bytes);

}  // namespace rota
