// Which lookups are dropped.
#include "experts/skip.h"

#include <algorithm>

namespace rota {

Skipper::Skipper(const SkipOptions& options, int max_rows, int top_k) : options_(options) {
  const auto pairs = static_cast<size_t>(max_rows) * static_cast<size_t>(top_k);
  dropped_.reserve(pairs);
  weights_.reserve(pairs);
}

float Skipper::threshold(Tier tier) const {
  switch (tier) {
    case Tier::kSlot:
      return 0;
    case Tier::kArena:
      return options_.miss;
    case Tier::kFile:
      return std::max(options_.miss, options_.file);
  }
  return 0;
}

void Skipper::judge(const Placement& placement, int layer, int rows, int top_k, const int* ids,
                    const float* weights) {
  const auto pairs = static_cast<size_t>(rows) * static_cast<size_t>(top_k);
  dropped_.assign(pairs, 0);
  weights_.assign(weights, weights + pairs);
  count_ = 0;
  for (size_t first = 0; first < pairs; first += static_cast<size_t>(top_k)) {
    const size_t end = first + static_cast<size_t>(top_k);
    float sum = 0, kept = 0;
    for (size_t p = first; p < end; ++p) sum += weights[p];
    for (size_t p = first; p < end; ++p) {
      dropped_[p] = weights[p] < threshold(placement.tier(layer, ids[p])) * sum;
      if (dropped_[p] == 0) kept += weights[p];
      count_ += dropped_[p];
    }
    // A row that lost everything has nothing to scale; one that lost nothing keeps its bits.
    if (!options_.renorm || kept <= 0 || kept == sum) continue;
    for (size_t p = first; p < end; ++p) weights_[p] *= sum / kept;
  }
}

}  // namespace rota
