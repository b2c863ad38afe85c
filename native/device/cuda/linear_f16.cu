// The matrix-vector kernel for F16.
#include "device/cuda/linear_kernel.cuh"
#include "device/cuda/linear_words.cuh"

namespace rota {

void launch_linear_f16(cudaStream_t stream, const LinearArgs& args) {
  gpu::launch_rows<gpu::HalfWords<false>>(stream, args);
}

}  // namespace rota
