// Lossy: lookups that are dropped because their expert is not held and weighs little. Owns the rule
// and the weights that follow from it; moves no byte, counts nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "experts/placement.h"

namespace rota {

// Shares of a row's sum of weights. 0 drops nothing.
struct SkipOptions {
  float miss = 0;  // below it an expert outside the slots is dropped
  float file = 0;  // the same for one that needs a file read; the larger of the two holds there
  bool renorm = false;  // what stays of a row is scaled to the row's former sum
  bool any() const { return miss > 0 || file > 0; }
};

class Skipper {
 public:
  Skipper(const SkipOptions& options, int max_rows, int top_k);

  // Decides each (row, k) by the residency of this moment and by its own row alone. The results are
  // valid until the next call.
  void judge(const Placement& placement, int layer, int rows, int top_k, const int* ids,
             const float* weights);
  std::span<const uint8_t> dropped() const { return dropped_; }  // [rows, top_k], 1 = dropped
  const float* weights() const { return weights_.data(); }       // [rows, top_k]
  int count() const { return count_; }

 private:
  float threshold(Tier tier) const;
  SkipOptions options_;
  std::vector<uint8_t> dropped_;
  std::vector<float> weights_;
  int count_ = 0;
};

}  // namespace rota
