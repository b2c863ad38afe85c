// Distributions over the vocabulary and the two ways to draw from them.
#include "decode/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/rng.h"

namespace rota {

int argmax(std::span<const float> logits) {
  size_t best = 0;
  for (size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best]) best = i;
  }
  return static_cast<int>(best);
}

UniformSource::UniformSource(uint64_t seed) : key_(splitmix64(seed)) {}

double UniformSource::next() { return unit_double(splitmix64_mix(key_ + ++drawn_ * kGoldenGamma)); }

Distribution::Distribution(int vocab)
    : weight_(static_cast<size_t>(vocab)), order_(static_cast<size_t>(vocab)) {}

void Distribution::fill(std::span<const float> logits, const SamplingParams& params,
                        std::span<float> out) {
  ROTA_CHECK(logits.size() == weight_.size() && out.size() == weight_.size(), logits.size());
  const auto largest = static_cast<double>(logits[static_cast<size_t>(argmax(logits))]);
  double total = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    weight_[i] = std::exp((static_cast<double>(logits[i]) - largest) / params.temperature);
    total += weight_[i];
  }
  if (params.top_p < 1) {
    std::iota(order_.begin(), order_.end(), 0);
    const auto more_probable = [this](int a, int b) {
      const double wa = weight_[static_cast<size_t>(a)], wb = weight_[static_cast<size_t>(b)];
      return wa > wb || (wa == wb && a < b);
    };
    // The kept set is usually small: sort only as much of the order as it needs.
    double kept = 0;
    size_t sorted = 0, keep = 0;
    while (keep < order_.size() && (keep == 0 || kept < params.top_p * total)) {
      if (keep == sorted) {
        const size_t until = std::min(order_.size(), std::max<size_t>(64, sorted * 4));
        std::partial_sort(order_.begin() + static_cast<std::ptrdiff_t>(sorted),
                          order_.begin() + static_cast<std::ptrdiff_t>(until), order_.end(),
                          more_probable);
        sorted = until;
      }
      kept += weight_[static_cast<size_t>(order_[keep++])];
    }
    for (size_t i = keep; i < order_.size(); ++i) weight_[static_cast<size_t>(order_[i])] = 0;
    total = kept;
  }
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(weight_[i] / total);
}

int sample(std::span<const float> probabilities, double u) {
  double total = 0;
  for (const float p : probabilities) total += static_cast<double>(p);
  double left = u * total;
  int last = -1;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] <= 0) continue;
    last = static_cast<int>(i);
    left -= static_cast<double>(probabilities[i]);
    if (left < 0) break;
  }
  ROTA_CHECK(last >= 0, "an empty distribution of", probabilities.size());
  return last;
}

bool accept_drafted(float p, float q, double u) {
  return u * static_cast<double>(q) < static_cast<double>(p);
}

int sample_residual(std::span<const float> p, std::span<const float> q, double u,
                    std::span<float> workspace) {
  float largest = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    workspace[i] = std::max(p[i] - q[i], 0.0f);
    largest = std::max(largest, workspace[i]);
  }
  // p == q up to rounding: a rejection had probability ~0, and p itself is the right answer.
  return largest > 0 ? sample(workspace, u) : sample(p, u);
}

}  // namespace rota
