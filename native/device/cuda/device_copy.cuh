// Copies within a GPU's memory and into it: what the memory and the way to it can do. Owns how they
// are made and timed, for everything that is set beside them.
#pragma once

#include "device/cuda/cuda_stream.cuh"

namespace rota {

// Bytes read and written a second by four copies of `bytes` in a row: by a kernel, or by CUDA's own
// (outside of a graph: in one it may be a copy engine's, and slower), whichever is faster. Both
// addresses multiples of 16.
Result<double> copy_bytes_per_s(CudaStream& stream, const uint8_t* from, uint8_t* to,
                                uint64_t bytes);

// Bytes a second that arrive from page-locked memory of the host, of four copies in a row.
Result<double> from_host_bytes_per_s(CudaStream& stream, const uint8_t* host, uint8_t* to,
                                     uint64_t bytes);

}  // namespace rota
