// The router's choice of experts on the GPU; the formula is device.h's route.
#pragma once

#include "device/cuda/launch_queue.cuh"

namespace rota {

// Their scores and the chosen stand in a block's shared memory.
inline constexpr int kMostExperts = 4096;

// top_k at most `experts`, these at most kMostExperts.
void launch_route(LaunchQueue& queue, const float* logits, const float* bias,
                  const float* selection_bias, int rows, int experts, int top_k, float route_scale,
                  int* ids, float* weights);

}  // namespace rota
