// The small operations of device.h on the GPU. Arguments and formulas are the interface's; every
// row is one block's or its elements are single threads', so that no other row is in its sums.
#pragma once

#include "device/cuda/launch_queue.cuh"
#include "device/device.h"

namespace rota {

void launch_rms(LaunchQueue& queue, const float* x, const float* w, int rows, int n, float eps,
                float* y);
void launch_rope(LaunchQueue& queue, float* x, int rows, int heads, int dim, const float* freq,
                 int pairs, int first_position, int step, bool inverse);
// n even.
void launch_rms_rope(LaunchQueue& queue, float* x, const float* w, int rows, int n, float eps,
                     const float* freq, int pairs, int first_position, int step);
void launch_ring_write(LaunchQueue& queue, const float* x, int rows, int dim, int first_position,
                       float* ring, int slots);
// ratio at most kMostTokensAGroup.
void launch_compress(LaunchQueue& queue, const float* kv_ring, const float* gate_ring, int slots,
                     int ratio, int first_group, int groups, int dim, float* out);
void launch_engram_gate(LaunchQueue& queue, float* h, const float* kv, const float* q_weight,
                        const float* k_weight, int rows, int mult, int dim, float eps);
void launch_swiglu(LaunchQueue& queue, const float* gate, const float* up, size_t count,
                   float limit, float* out);
void launch_largest(LaunchQueue& queue, const float* x, int rows, int n, int* ids);
void launch_scale(LaunchQueue& queue, float* x, size_t count, float factor);
void launch_add(LaunchQueue& queue, const float* x, size_t count, float* y);
void launch_copy(LaunchQueue& queue, const void* from, size_t bytes, void* to);

}  // namespace rota
