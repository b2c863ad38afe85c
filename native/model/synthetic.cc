// The spread of each role, and the counter-based values.
#include "model/synthetic.h"

#include <cmath>

#include "base/rng.h"

namespace rota {
namespace {

WeightSpread linear(uint64_t fan_in) { return {0.0, 1.0 / std::sqrt(static_cast<double>(fan_in))}; }

constexpr double kFieldMean = 131070.0;  // of the sum of four 16-bit fields
constexpr double kFieldStd = 37837.2;    // 65536 / sqrt(3)

// Codes -1, 0, 1, 2 with shares .4, .3, .2, .1: mean 0, variance 1.
double grid_code(uint64_t index, double z) {
  constexpr double kZero = -0.2533, kOne = 0.5244, kTwo = 1.2816;
  if (index % 16 < 2) return index % 16 == 0 ? -1 : 2;
  return z < kZero ? -1 : z < kOne ? 0 : z < kTwo ? 1 : 2;
}

}  // namespace

WeightSpread weight_spread(Role role, const Config& config, uint64_t row_length, bool harsh) {
  switch (role) {
    case Role::kTokenEmbd:
      return {0.0, 0.12};
    case Role::kEngramEmbed:
      return {0.0, 1.0};
    case Role::kOutputNorm:
    case Role::kDraftFcNorm:
    case Role::kAttnNorm:
    case Role::kAttnQANorm:
    case Role::kAttnKvNorm:
    case Role::kFfnNorm:
    case Role::kCompressorNorm:
    case Role::kIndexKNorm:
      return {1.0, 0.1};
    case Role::kAttnSinks:
    case Role::kRouterBias:
      return {0.0, 0.1};
    case Role::kHcAttnBase:
    case Role::kHcFfnBase:
      return {0.0, harsh ? 4.0 : 0.5};
    case Role::kHcAttnScale:
    case Role::kHcFfnScale:
      return {harsh ? 2.0 : 0.5, 0.0};
    case Role::kEngramQ:
    case Role::kEngramK:
      return {1.0, 1.0 / std::sqrt(static_cast<double>(config.dim))};
    default:
      return linear(row_length);
  }
}

WeightSpread expert_spread(uint64_t row_length) { return linear(row_length); }

SyntheticValues::SyntheticValues(const std::string& name, uint64_t seed, WeightSpread spread)
    : key_(fnv1a64(name) ^ splitmix64(seed)), spread_(spread) {}

void SyntheticValues::fill(uint64_t first, float* out, size_t n) const {
  uint64_t counter = key_ + first * kGoldenGamma;
  const double step = std::exp2(std::round(std::log2(spread_.std)));
  for (size_t i = 0; i < n; ++i) {
    counter += kGoldenGamma;
    const uint64_t u = splitmix64_mix(counter);
    const uint64_t sum = (u & 0xffff) + ((u >> 16) & 0xffff) + ((u >> 32) & 0xffff) + (u >> 48);
    const double z = (static_cast<double>(sum) - kFieldMean) / kFieldStd;
    out[i] = static_cast<float>(spread_.grid ? step * grid_code(first + i, z)
                                             : spread_.mean + spread_.std * z);
  }
}

std::string sidecar_key(const std::string& tensor_name) { return "dspark." + tensor_name; }

}  // namespace rota
