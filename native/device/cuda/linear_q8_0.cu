// The tensor-core product for grouped Q8_0.
#include "device/cuda/linear_tensor.cuh"
#include "device/cuda/linear_words.cuh"

namespace rota {

void launch_linear_q8_0(LaunchQueue& queue, const LinearArgs& first, const LinearArgs* second) {
  gpu::launch_tensor<gpu::Q8_0Codes>(queue, first, second);
}

}  // namespace rota
