// Fuzz target: files of draft counts, for --keep. What is kept are experts that have an entry, as
// many as were asked for, and none of them is lighter than one that was left.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "experts/draft_counts.h"

namespace {

constexpr int kStages = 2, kExperts = 4, kKeep = 2;

void check_stage(const rota::DraftCounts& counts, const std::vector<uint8_t>& kept, int stage) {
  int64_t lightest = INT64_MAX, heaviest = -1;
  int number = 0;
  for (int e = 0; e < kExperts; ++e) {
    const int64_t count = counts.of(stage, e);
    if (kept[static_cast<size_t>(stage * kExperts + e)] != 0) {
      ++number;
      lightest = std::min(lightest, count);
    } else {
      heaviest = std::max(heaviest, count);
    }
  }
  ROTA_CHECK(number == kKeep && lightest >= 0 && lightest >= heaviest, stage, lightest, heaviest);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto counts = rota::DraftCounts::parse(text, "counts", kStages, kExperts);
  if (!counts.ok()) return 0;
  const auto kept = counts.value().heaviest(kKeep, 1);
  if (!kept.ok()) return 0;
  for (int stage = 0; stage < kStages; ++stage) check_stage(counts.value(), kept.value(), stage);
  return 0;
}
