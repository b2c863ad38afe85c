// Seeded weights: value i of a named tensor, from nothing but name, seed and i. Owns the rule and
// the spread of each role; writes no file. native/model/golden/synthetic_rule.py says the same in
// Python.
//
//   key = fnv1a64(NAME) ^ splitmix64(SEED)                       NAME of a sidecar tensor begins
//   with "dspark." u   = splitmix64_mix(key + (i + 1) * 0x9E3779B97F4A7C15)     i counts row-major,
//   ne[0] fastest z   = (sum of the four 16-bit fields of u - 131070) / 37837.2    near-normal,
//   variance 1 weight = float(mean + std * z)
// Expert weights are named after the plain 3-D tensors in every layout, so that layouts hold the
// same model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "model/config.h"
#include "model/tensor_names.h"

namespace rota {

//
// On the grid, a weight is one of -1, 0, 1, 2 times a power of two near std, by which of four
// ranges z falls into; of every 16 weights the first is -1 and the second 2. MXFP4, Q2_K, Q3_K and
// the float formats hold such weights exactly (the first two fix the ends of a sub-block), so files
// in different formats are the same model.

struct WeightSpread {
  double mean = 0;
  double std = 1;
  bool grid = false;
};

// `harsh` settings (hyper-connection base x8, scale x4) make Sinkhorn mistakes visible in the
// logits.
WeightSpread weight_spread(Role role, const Config& config, uint64_t row_length, bool harsh);
WeightSpread expert_spread(uint64_t row_length);

class SyntheticValues {
 public:
  SyntheticValues(const std::string& name, uint64_t seed, WeightSpread spread);
  // Values first .. first + n - 1.
  void fill(uint64_t first, float* out, size_t n) const;

 private:
  uint64_t key_;
  WeightSpread spread_;
};

// What the rule calls a tensor of the sidecar, whose own names collide with the model's.
std::string sidecar_key(const std::string& tensor_name);

}  // namespace rota
