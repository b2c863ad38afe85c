// Matrix times 1..many rows on the GPU. Owns the one summation order of a dot product there.
#pragma once

#include "device/cuda/launch_queue.cuh"
#include "device/device.h"

namespace rota {

// THE ORDER. A row of weights is cut into stretches of 512, these into slices (a number that
// follows from the matrix alone); a lane takes its four weights of each of a stretch's four words
// by fused multiply-adds, ascending; lanes are added by a tree, slices in order. Matrices in groups
// go through the tensor cores: a slice's groups of 256 ascending, of each its blocks, a block's
// products summed there before they meet its scale. A row's bits depend on that row, the weights
// and the matrix's shape: on no other row, and not on how many there are.

// y[r, o] = W[o] . x[r] for `groups` 1; else output o of group g = o / (out / groups) is of group g
// of x [rows, groups, in].
void launch_linear(LaunchQueue& queue, const Matrix& w, int groups, const float* x, int rows,
                   float* y);
// Both over the same x [rows, in], each with launch_linear's bits; in one launch where they can.
void launch_linear_pair(LaunchQueue& queue, const Matrix& first, const Matrix& second,
                        const float* x, int rows, float* y_first, float* y_second);
// y[i] = row ids[i] of the table, decoded. ids on the host.
void launch_gather(LaunchQueue& queue, const Matrix& table, const int* ids, int n, float* y);
// The same with ids on the GPU.
void launch_gather_listed(LaunchQueue& queue, const Matrix& table, const int* ids, int n, float* y);

}  // namespace rota
