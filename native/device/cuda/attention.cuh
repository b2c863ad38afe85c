// Attention over ring, block and listed keys on the GPU (AttentionArgs says which, in which order).
// Owns how keys are cut into parts that are computed side by side.
#pragma once

#include "device/cuda/launch_queue.cuh"
#include "device/device.h"

namespace rota {

inline constexpr int kMostHeadDim = 512;
// Keys of one part: consecutive in the order of summation, from the row's first on, so that a row's
// parts are its own.
inline constexpr int kKeysAPart = 32;
// Rows that are computed at once; more take turns.
inline constexpr int kAttentionRows = 16;

// Floats of scratch for rows of at most `keys` keys.
size_t attention_scratch_floats(int heads, int head_dim, int keys);
// Queries are turned as they are read and the output back as it is written, where there are pairs.
void launch_attention(LaunchQueue& queue, const AttentionArgs& args, const Rotation& rotation,
                      float* scratch);

}  // namespace rota
