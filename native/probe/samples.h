// Rates of repeated measurements, summarised. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rota {

struct RateSummary {
  int threads = 0;
  int n = 0;
  double median_bytes_per_s = 0;
  double best_bytes_per_s = 0;
};

// bytes_per_s not empty.
RateSummary summarise(int threads, std::vector<double> bytes_per_s);
// The fastest of several; null when there is none.
const RateSummary* fastest(const std::vector<RateSummary>& summaries);
// 1, 2, 4, ... below `most`, then `most`; every count where there are few.
std::vector<int> thread_counts(int most);

}  // namespace rota
