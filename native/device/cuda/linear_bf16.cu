// The matrix-vector kernel for BF16.
#include "device/cuda/linear_kernel.cuh"
#include "device/cuda/linear_words.cuh"

namespace rota {

void launch_linear_bf16(LaunchQueue& queue, const LinearArgs& args) {
  gpu::launch_rows<gpu::HalfWords<true>>(queue, args);
}

}  // namespace rota
