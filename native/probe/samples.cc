// Median, best, and which thread counts to try.
#include "probe/samples.h"

#include <algorithm>

#include "base/check.h"

namespace rota {

RateSummary summarise(int threads, std::vector<double> rates) {
  ROTA_CHECK(!rates.empty(), "threads", threads);
  std::sort(rates.begin(), rates.end());
  const size_t half = rates.size() / 2;
  const double median = rates.size() % 2 == 1 ? rates[half] : (rates[half - 1] + rates[half]) / 2;
  return {threads, static_cast<int>(rates.size()), median, rates.back()};
}

const RateSummary* fastest(const std::vector<RateSummary>& summaries) {
  const auto best = std::max_element(
      summaries.begin(), summaries.end(),
      [](const auto& a, const auto& b) { return a.best_bytes_per_s < b.best_bytes_per_s; });
  return best == summaries.end() ? nullptr : &*best;
}

std::vector<int> thread_counts(int most) {
  constexpr int kFew = 4;
  std::vector<int> counts;
  for (int n = 1; n < most; n = most <= kFew ? n + 1 : n * 2) counts.push_back(n);
  counts.push_back(most);
  return counts;
}

}  // namespace rota
