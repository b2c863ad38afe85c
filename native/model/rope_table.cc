// Rotation frequencies, computed in double and rounded once, so that they are the nearest fp32
// values.
#include "model/rope_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rota {
namespace {

double plain(double base, int i, int dim) { return std::pow(base, -2.0 * i / dim); }

}  // namespace

std::vector<float> window_frequencies(const Config& config) {
  std::vector<float> out;
  for (int i = 0; i < config.rope_dim / 2; ++i)
    out.push_back(static_cast<float>(plain(config.theta, i, config.rope_dim)));
  return out;
}

std::vector<float> compressed_frequencies(const Config& config) {
  const int dim = config.rope_dim;
  const double base = config.compress_theta;
  // The channel whose wavelength makes `turns` turns over the original context.
  const auto channel = [&](double turns) {
    return dim * std::log(config.rope_original_len / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(base));
  };
  const double low = std::max(std::floor(channel(config.yarn_beta_fast)), 0.0);
  const double high = std::min(std::ceil(channel(config.yarn_beta_slow)), dim - 1.0);
  std::vector<float> out;
  for (int i = 0; i < dim / 2; ++i) {
    const double f = plain(base, i, dim);
    const double ramp = std::clamp((i - low) / std::max(high - low, 1e-3), 0.0, 1.0);
    out.push_back(static_cast<float>(f / config.rope_factor * ramp + f * (1 - ramp)));
  }
  return out;
}

}  // namespace rota
