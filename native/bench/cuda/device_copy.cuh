// Copies within a GPU's memory: what its memory can do. Owns how they are made and timed, for every
// benchmark that is set beside them.
#pragma once

#include "device/cuda/cuda_stream.cuh"

namespace rota {

// Bytes read and written a second by four copies of `bytes` in a row: by a kernel, or by CUDA's own
// (outside of a graph: in one it may be a copy engine's, and slower), whichever is faster. Both
// addresses multiples of 16.
Result<double> copy_bytes_per_s(CudaStream& stream, const uint8_t* from, uint8_t* to,
                                uint64_t bytes);

}  // namespace rota
