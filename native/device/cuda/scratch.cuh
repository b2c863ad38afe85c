// Working memory of a device's operations.
#pragma once

#include "device/cuda/cuda_stream.cuh"

namespace rota {

// Grows and never shrinks; its owner releases it.
struct Scratch {
  float* memory = nullptr;
  size_t floats = 0;

  Status reach(CudaStream& stream, const char* what, size_t wanted) {
    if (wanted <= floats) return {};
    stream.release(memory);
    memory = nullptr, floats = 0;
    ROTA_ASSIGN_OR_RETURN(void* taken, stream.allocate(wanted * sizeof(float), what));
    memory = static_cast<float*>(taken);
    floats = wanted;
    return {};
  }
};

}  // namespace rota
