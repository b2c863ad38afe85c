// Hyper-connections on the GPU; shapes and formulas are device.h's. At most kMostHcCopies copies.
#pragma once

#include "device/cuda/launch_queue.cuh"
#include "device/device.h"

namespace rota {

inline constexpr int kMostHcCopies = 8;

void launch_hc_coefficients(LaunchQueue& queue, const HcParams& params, const float* h, int dim,
                            const float* mix, const float* base, const float* scale, int rows,
                            float* pre, float* post, float* comb);
void launch_hc_collapse(LaunchQueue& queue, const float* h, const float* m, int rows, int mult,
                        int dim, float* x);
// h takes y + addend, which may be null.
void launch_hc_expand(LaunchQueue& queue, float* h, const float* y, const float* addend,
                      const float* post, const float* comb, int rows, int mult, int dim);
void launch_hc_mean(LaunchQueue& queue, const float* h, int rows, int mult, int dim, float* out,
                    int out_stride);
void launch_hc_copy(LaunchQueue& queue, const float* x, int rows, int mult, int dim, float* h);

}  // namespace rota
