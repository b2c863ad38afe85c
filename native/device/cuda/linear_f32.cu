// The matrix-vector kernel for F32.
#include "device/cuda/linear_kernel.cuh"
#include "device/cuda/linear_words.cuh"

namespace rota {

void launch_linear_f32(LaunchQueue& queue, const LinearArgs& args) {
  gpu::launch_rows<gpu::F32Words>(queue, args);
}

}  // namespace rota
