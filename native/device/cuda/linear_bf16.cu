// The matrix-vector kernel for BF16.
#include "device/cuda/linear_kernel.cuh"
#include "device/cuda/linear_words.cuh"

namespace rota {

void launch_linear_bf16(cudaStream_t stream, const LinearArgs& args) {
  gpu::launch_rows<gpu::HalfWords<true>>(stream, args);
}

}  // namespace rota
