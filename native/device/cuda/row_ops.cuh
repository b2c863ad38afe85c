// The small operations of device.h on the GPU. Arguments and formulas are the interface's; every
// row is one block's or its elements are single threads', so that no other row is in its sums.
#pragma once

#include <cuda_runtime_api.h>

#include "device/device.h"

namespace rota {

void launch_rms(cudaStream_t stream, const float* x, const float* w, int rows, int n, float eps,
                float* y);
void launch_rope(cudaStream_t stream, float* x, int rows, int heads, int dim, const float* freq,
                 int pairs, int first_position, int step, bool inverse);
// n even.
void launch_rms_rope(cudaStream_t stream, float* x, const float* w, int rows, int n, float eps,
                     const float* freq, int pairs, int first_position, int step);
void launch_ring_write(cudaStream_t stream, const float* x, int rows, int dim, int first_position,
                       float* ring, int slots);
// ratio at most kMostTokensAGroup.
void launch_compress(cudaStream_t stream, const float* kv_ring, const float* gate_ring, int slots,
                     int ratio, int first_group, int groups, int dim, float* out);
void launch_engram_gate(cudaStream_t stream, float* h, const float* kv, const float* q_weight,
                        const float* k_weight, int rows, int mult, int dim, float eps);
void launch_swiglu(cudaStream_t stream, const float* gate, const float* up, size_t count,
                   float limit, float* out);
void launch_largest(cudaStream_t stream, const float* x, int rows, int n, int* ids);
void launch_scale(cudaStream_t stream, float* x, size_t count, float factor);
void launch_add(cudaStream_t stream, const float* x, size_t count, float* y);

}  // namespace rota
