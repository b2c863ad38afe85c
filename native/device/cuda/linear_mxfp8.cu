// The tensor-core product for grouped MXFP8.
#include "device/cuda/linear_tensor.cuh"
#include "device/cuda/linear_words.cuh"

namespace rota {

void launch_linear_mxfp8(LaunchQueue& queue, const LinearArgs& first, const LinearArgs* second) {
  gpu::launch_tensor<gpu::MXFP8Codes>(queue, first, second);
}

}  // namespace rota
