// Index scores and the selection of groups on the GPU. Selection is by (score descending, index
// ascending), a total order: given equal scores the chosen set is the host's.
#pragma once

#include "device/cuda/launch_queue.cuh"
#include "device/device.h"

namespace rota {

// Shared memory that index scores need, and the most there is on every GPU that this is built for.
size_t index_scores_shared_bytes(int heads, int head_dim);
inline constexpr size_t kMostSharedBytes = 99 << 10;
// Once for a GPU: lets them have it.
cudaError_t allow_index_scores();

void launch_index_scores(LaunchQueue& queue, const IndexArgs& args);
void launch_candidate_pool(LaunchQueue& queue, const IndexArgs& args, int block_size, int blocks,
                           uint8_t* keep, int keep_stride);
// keep may be null.
void launch_select_groups(LaunchQueue& queue, const IndexArgs& args, const uint8_t* keep,
                          int keep_stride, int block_size, int top_k, int* list, int list_stride,
                          int* list_count);

}  // namespace rota
