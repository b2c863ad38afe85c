// The matrix-vector kernel for F16.
#include "device/cuda/linear_kernel.cuh"
#include "device/cuda/linear_words.cuh"

namespace rota {

void launch_linear_f16(LaunchQueue& queue, const LinearArgs& args) {
  gpu::launch_rows<gpu::HalfWords<false>>(queue, args);
}

}  // namespace rota
