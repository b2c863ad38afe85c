// The matrix-vector kernel for grouped MXFP8.
#include "device/cuda/linear_kernel.cuh"
#include "device/cuda/linear_words.cuh"

namespace rota {

void launch_linear_mxfp8(cudaStream_t stream, const LinearArgs& args) {
  gpu::launch_rows<gpu::GroupedMXFP8Words>(stream, args);
}

}  // namespace rota
