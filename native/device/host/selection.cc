// Which compressed groups a row attends to. Selection is by (score descending, index ascending), a
// total order, so that the chosen set is one whatever algorithm finds it.
#include "device/host/selection.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "device/host/vector_ops.h"

namespace rota {
namespace {

// Moves the k best of order[0, n) to its front, in no particular order.
void best_first(const float* scores, int* order, int n, int k) {
  if (k >= n) return;
  std::nth_element(order, order + k, order + n, [scores](int a, int b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  });
}

}  // namespace

int visible_groups(const IndexArgs& args, int row) {
  return (args.first_position + row + 1) / args.ratio;
}

void index_scores_row(const IndexArgs& args, int row, int begin, int end, float* scratch) {
  const VectorOps& ops = vector_ops();
  const size_t dim = static_cast<size_t>(args.head_dim), heads = static_cast<size_t>(args.heads);
  const float* q = args.q.address() + static_cast<size_t>(row) * heads * dim;
  const float* weights = args.weights.address() + static_cast<size_t>(row) * heads;
  float* scores =
      args.scores.address() + static_cast<size_t>(row) * static_cast<size_t>(args.score_stride);
  for (int j = begin; j < end; ++j) {
    const float* key = scratch;
    if (args.keys.format == KeyFormat::kF32) {
      key = args.keys.floats(static_cast<size_t>(j));
    } else {
      decode_key_row(args.keys.format, args.keys.row(static_cast<size_t>(j)), dim, scratch);
    }
    float sum = 0;
    for (size_t h = 0; h < heads; ++h)
      sum += std::max(ops.dot(q + h * dim, key, dim), 0.0f) * weights[h];
    scores[j] = sum;
  }
}

void candidate_pool_row(const float* scores, int visible, int block_size, int blocks, uint8_t* keep,
                        float* maxima, int* order) {
  const int count = (visible + block_size - 1) / block_size;
  if (count == 0) return;
  for (int b = 0; b < count; ++b) {
    maxima[b] = *std::max_element(scores + b * block_size,
                                  scores + std::min(visible, (b + 1) * block_size));
  }
  maxima[count - 1] = std::numeric_limits<float>::infinity();  // the newest block is always in
  std::iota(order, order + count, 0);
  const int kept = std::min(blocks, count);
  best_first(maxima, order, count, kept);
  std::fill_n(keep, count, uint8_t{0});
  for (int i = 0; i < kept; ++i) keep[order[i]] = 1;
}

int select_groups_row(const float* scores, int visible, const uint8_t* keep, int block_size,
                      int top_k, int* order, int* list) {
  int candidates = 0;
  for (int j = 0; j < visible; ++j) {
    if (keep == nullptr || keep[j / block_size] != 0) order[candidates++] = j;
  }
  const int chosen = std::min(top_k, candidates);
  best_first(scores, order, candidates, chosen);
  std::copy_n(order, chosen, list);
  std::sort(list, list + chosen);
  return chosen;
}

}  // namespace rota
