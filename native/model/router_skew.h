// Biases of a synthetic model's routers by which a stated share of experts gets a stated share of
// the lookups. Owns the curve, its calibration and who stands where on it; writes nothing.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.h"

namespace rota {

struct SkewOptions {
  double experts = 0;  // share of all experts, the most wanted ones; 0 = no skew
  double lookups = 0;  // share of lookups that they get
};

class RouterSkew {
 public:
  // Routers as synthetic.h draws them: a row's scores are those of independent normal values, one
  // an expert. kUsage for shares that no bias can give.
  static Result<RouterSkew> calibrate(const SkewOptions& options, uint64_t seed, int layers,
                                      int experts, int top_k);

  // [experts] of one layer.
  std::vector<float> biases(int layer) const;
  // (layer, expert), most wanted first: the first of every layer, the second of every layer, ...
  std::vector<std::pair<int, int>> ranking() const;
  double lookups() const { return lookups_; }  // share found by the calibration

 private:
  RouterSkew(uint64_t seed, int layers, int experts)
      : seed_(seed), layers_(layers), experts_(experts) {}
  std::vector<int> order(int layer) const;

  uint64_t seed_;
  int layers_, experts_;
  std::vector<float> curve_;  // [experts], by place in a layer's order
  double lookups_ = 0;
};

}  // namespace rota
