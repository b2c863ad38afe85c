// The bias of an expert at place r of n is steepness * logit((r + 1/2) / n), so that few are wanted
// much, few hardly ever and most are alike; the steepness is found by drawing rows.
#include "model/router_skew.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>

#include "base/rng.h"

namespace rota {
namespace {

constexpr int kRows = 4096;  // drawn; the share's standard error is below 0.003 at top 6
// The steepness goes by such steps, so that a last bit of somebody's exp() changes no model.
constexpr double kStep = 1.0 / 8192;
constexpr int kMostSteps = 16 * 8192;

double place_logit(int place, int n) {
  const double p = (place + 0.5) / n;
  return std::log((1 - p) / p);
}

// Box-Muller, since the tails choose; the four-field draws of synthetic.h have none.
double normal(uint64_t index) {
  constexpr double kTwoPi = 6.283185307179586;
  const double u = 1 - unit_double(splitmix64(2 * index)),
               v = unit_double(splitmix64(2 * index + 1));
  return std::sqrt(-2 * std::log(u)) * std::cos(kTwoPi * v);
}

float score(double logit) { return static_cast<float>(std::sqrt(std::log1p(std::exp(logit)))); }

// Share of lookups that go to the first `hot` places, counted over drawn rows. A fraction of a
// place counts as that fraction of its lookups: the last one is hot in some layers alone.
class DrawnRows {
 public:
  DrawnRows(int experts, int top_k, double hot) : experts_(experts), top_k_(top_k), hot_(hot) {
    scores_.resize(static_cast<size_t>(kRows) * static_cast<size_t>(experts));
    for (size_t i = 0; i < scores_.size(); ++i) scores_[i] = score(normal(i));
  }

  double hot_share(const std::vector<float>& curve) const {
    std::vector<float> row(static_cast<size_t>(experts_));
    std::vector<int> places(row.size());
    double found = 0;
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t e = 0; e < row.size(); ++e) row[e] = scores_[r * row.size() + e] + curve[e];
      std::iota(places.begin(), places.end(), 0);
      std::nth_element(places.begin(), places.begin() + (top_k_ - 1), places.end(),
                       [&row](int a, int b) {
                         const float x = row[static_cast<size_t>(a)];
                         const float y = row[static_cast<size_t>(b)];
                         return x != y ? x > y : a < b;
                       });
      for (int k = 0; k < top_k_; ++k) {
        found += std::clamp(hot_ - places[static_cast<size_t>(k)], 0.0, 1.0);
      }
    }
    return found / (static_cast<double>(kRows) * top_k_);
  }

 private:
  int experts_, top_k_;
  double hot_;
  std::vector<float> scores_;  // [kRows, experts]
};

std::vector<float> curve_of(int steps, int experts) {
  std::vector<float> curve;
  for (int place = 0; place < experts; ++place) {
    curve.push_back(static_cast<float>(steps * kStep * place_logit(place, experts)));
  }
  return curve;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

}  // namespace

Result<RouterSkew> RouterSkew::calibrate(const SkewOptions& options, uint64_t seed, int layers,
                                         int experts, int top_k) {
  RouterSkew skew(seed, layers, experts);
  const double hot = options.experts * experts;
  const DrawnRows rows(experts, top_k, hot);
  // The share grows with the steepness, from the experts' own share to that of as many as are
  // chosen.
  int low = 0, high = kMostSteps;
  if (options.lookups < options.experts ||
      rows.hot_share(curve_of(high, experts)) < options.lookups) {
    return Status(Code::kUsage, percent(options.experts) + " of the experts cannot get " +
                                    percent(options.lookups) + " of the lookups when " +
                                    std::to_string(top_k) + " of " + std::to_string(experts) +
                                    " are chosen");
  }
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (rows.hot_share(curve_of(middle, experts)) < options.lookups ? low : high) = middle;
  }
  skew.curve_ = curve_of(high, experts);
  skew.lookups_ = rows.hot_share(skew.curve_);
  return skew;
}

// By a seeded draw each, so that neither numbers nor formats say who is wanted.
std::vector<int> RouterSkew::order(int layer) const {
  const uint64_t key = fnv1a64("blk." + std::to_string(layer) + ".wanted") ^ splitmix64(seed_);
  std::vector<int> experts(static_cast<size_t>(experts_));
  std::iota(experts.begin(), experts.end(), 0);
  std::sort(experts.begin(), experts.end(), [key](int a, int b) {
    return splitmix64(key + static_cast<uint64_t>(a)) < splitmix64(key + static_cast<uint64_t>(b));
  });
  return experts;
}

std::vector<float> RouterSkew::biases(int layer) const {
  std::vector<float> biases(static_cast<size_t>(experts_));
  const std::vector<int> wanted = order(layer);
  for (size_t place = 0; place < wanted.size(); ++place) {
    biases[static_cast<size_t>(wanted[place])] = curve_[place];
  }
  return biases;
}

std::vector<std::pair<int, int>> RouterSkew::ranking() const {
  std::vector<std::vector<int>> orders;
  for (int layer = 0; layer < layers_; ++layer) orders.push_back(order(layer));
  std::vector<std::pair<int, int>> ranking;
  for (size_t place = 0; place < static_cast<size_t>(experts_); ++place) {
    for (int layer = 0; layer < layers_; ++layer) {
      ranking.emplace_back(layer, orders[static_cast<size_t>(layer)][place]);
    }
  }
  return ranking;
}

}  // namespace rota
