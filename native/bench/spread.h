// The middle, the quarters and the best of repeated rates. Pure.
#pragma once

#include <algorithm>
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

}  // namespace rota
