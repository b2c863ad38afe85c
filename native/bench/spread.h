// The middle, the quarters and the best of repeated rates. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace rota {

struct Spread {
  int n = 0;
  double median = 0;
  double low = 0, high = 0;  // the quarters, at the nearest rank
  double best = 0;
};

inline Spread spread_of(std::vector<double> values) {
  ROTA_CHECK(!values.empty(), "nothing was measured");
  std::sort(values.begin(), values.end());
  const size_t n = values.size(), half = n / 2;
  const double median = n % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {static_cast<int>(n), median, values[(n - 1) / 4], values[(3 * (n - 1) + 3) / 4],
          values.back()};
}

// The median, and bounds that hold it with at least 95 % whatever the distribution: the order
// statistics j and n + 1 - j with P(Binomial(n, 1/2) < j) <= 2.5 %. Few values: the extremes.
struct MedianInterval {
  double median = 0, low = 0, high = 0;
};

inline MedianInterval median_interval(std::vector<double> values) {
  const Spread spread = spread_of(values);
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  double term = std::pow(0.5, static_cast<double>(n)), below = 0;
  size_t j = 0;
  for (; j < n / 2; ++j) {
    below += term;  // P(Binomial <= j)
    if (below > 0.025) break;
    term *= static_cast<double>(n - j) / static_cast<double>(j + 1);
  }
  const size_t low = j == 0 ? 0 : j - 1;
  return {spread.median, values[low], values[n - 1 - low]};
}

}  // namespace rota
