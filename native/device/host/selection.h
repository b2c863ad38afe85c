// Which compressed groups a row attends to: scores, candidate pool, top-k (V4.1 reference 2.5).
// Ties go to the lowest index.
#pragma once

#include <cstdint>

#include "device/device.h"

namespace rota {

// Groups that row `row` may see: the complete ones.
int visible_groups(const IndexArgs& args, int row);

// Scores of groups [begin, end) of one row, end <= visible. scratch [head_dim] is used where keys
// are not floats.
void index_scores_row(const IndexArgs& args, int row, int begin, int end, float* scratch);

// keep[b] for the blocks of `visible` groups. order [blocks of the row] and maxima likewise are
// scratch.
void candidate_pool_row(const float* scores, int visible, int block_size, int blocks, uint8_t* keep,
                        float* maxima, int* order);

// Writes the chosen groups ascending, returns how many; keep may be null; order [visible] is
// scratch. A group outside the pool is never chosen, even where fewer than top_k are left.
int select_groups_row(const float* scores, int visible, const uint8_t* keep, int block_size,
                      int top_k, int* order, int* list);

}  // namespace rota
