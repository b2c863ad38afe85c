// The order in which the GPU keeps a matrix of 8-bit blocks: groups of 256 weights whose codes a
// half warp reads as 16 bytes a lane, followed by the scales of the group's eight blocks. As many
// bytes as before, each group where its blocks were. Owns that order.
#pragma once

#include <cuda_runtime_api.h>

#include "device/device.h"

namespace rota {

// THE ORDER. Byte 4 q + i (q, i in 0..3) of lane l (0..15) is the code of weight 64 q + 4 l + i:
// the activations that q's words meet are neighbours over the lanes. Scales follow in the order [l
// / 8][q], which is block 2 q + l / 8: a lane reads its four at once.
inline constexpr int kGroupWeights = 256;

// Whether the rows of this matrix are whole groups of a format that has such an order.
bool can_group(const Matrix& w);
// In place.
void launch_group(cudaStream_t stream, const Matrix& w);

}  // namespace rota
