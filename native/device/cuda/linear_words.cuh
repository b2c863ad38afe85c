// One door a format into the kernels; each is a file of its own, so that they compile
// side by side.
#pragma once

#include "device/cuda/launch_queue.cuh"
#include "device/cuda/linear_shape.cuh"

namespace rota {

void launch_linear_f32(LaunchQueue& queue, const LinearArgs& args);
void launch_linear_f16(LaunchQueue& queue, const LinearArgs& args);
void launch_linear_bf16(LaunchQueue& queue, const LinearArgs& args);
// Grouped; a second matrix over the same x and rows, or null.
void launch_linear_q8_0(LaunchQueue& queue, const LinearArgs& first, const LinearArgs* second);
void launch_linear_mxfp8(LaunchQueue& queue, const LinearArgs& first, const LinearArgs* second);

}  // namespace rota
