// The matrix-vector kernel for grouped Q8_0.
#include "device/cuda/linear_kernel.cuh"
#include "device/cuda/linear_words.cuh"

namespace rota {

void launch_linear_q8_0(cudaStream_t stream, const LinearArgs& args) {
  gpu::launch_rows<gpu::GroupedQ8_0Words>(stream, args);
}

}  // namespace rota
