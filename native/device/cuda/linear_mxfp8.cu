// The tensor-core product for grouped MXFP8.
#include "device/cuda/linear_tensor.cuh"
#include "device/cuda/linear_words.cuh"

namespace rota {

void launch_linear_mxfp8(cudaStream_t stream, const LinearArgs& first, const LinearArgs* second) {
  gpu::launch_tensor<gpu::MXFP8Codes>(stream, first, second);
}

}  // namespace rota
