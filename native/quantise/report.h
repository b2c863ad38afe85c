// What a quantisation found, as numbers a reader can check: errors by format, the mix, where the
// model is sensitive. Owns the definitions; measures nothing.
#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "quantise/allocate.h"
#include "quantise/calibration.h"
#include "quantise/layer_records.h"

namespace rota {

inline constexpr uint32_t kFewestMeasured = 8;  // tokens; an expert with fewer keeps Q2_0
inline constexpr int kFirstDoubled = 2, kLastDoubled = 3;  // layers whose cost counts twice

// What the allocator weighs: error over the layer's routed energy, doubled at both ends.
double layer_share(const LayerTrials& trials, int layer, int layers);
std::vector<Candidate> candidates(const std::vector<LayerTrials>& trials);
AllocationRules allocation_rules(const Config& config);

struct ReportInputs {
  const Config& config;
  const std::vector<Piece>& pieces;
  const std::vector<LayerTrials>& trials;
  const Allocation& allocation;
  const std::vector<LayerFit>& fitted;  // without blobs
  const Calibration::Difference& difference;
  uint64_t bytes;  // of both files
};

// JSON, indented; the same inputs give the same bytes.
std::string report_json(const ReportInputs& in);
// Lines for people.
std::string report_text(const ReportInputs& in);

// Spearman's rank correlation, ties at their mean rank; 0 where one of them does not vary.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace rota
