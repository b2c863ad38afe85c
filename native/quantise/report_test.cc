// The report's own arithmetic, and which experts the allocator may trade.
#include "quantise/report.h"

#include <doctest/doctest.h>

#include <vector>

namespace rota {
namespace {

TEST_CASE("rank correlation: SciPy's values, ties and what does not vary") {
  // scipy.stats.spearmanr 1.11
  CHECK(rank_correlation({1, 2, 3, 4, 5}, {5, 6, 7, 8, 7}) ==
        doctest::Approx(0.8207826816681233).epsilon(1e-12));
  CHECK(rank_correlation({1, 2, 3}, {30, 20, 10}) == -1);
  CHECK(rank_correlation({1, 1, 2, 2}, {1, 2, 1, 2}) == 0);
  CHECK(rank_correlation({1, 1, 1}, {1, 2, 3}) == 0);
  CHECK(rank_correlation({}, {}) == 0);
}

LayerTrials layer_of(double energy, std::vector<uint32_t> measured) {
  LayerTrials layer;
  layer.energy = energy;
  for (const uint32_t tokens : measured) {
    ExpertTrials expert;
    expert.measured_tokens = tokens;
    for (size_t f = 0; f < kChoices.size(); ++f) expert.formats[f].fitted = 8.0 / (1 << f);
    layer.experts.push_back(expert);
  }
  return layer;
}

TEST_CASE("an expert's cost: its share of the routed energy, twice at both ends") {
  std::vector<LayerTrials> trials;
  for (int l = 0; l < 7; ++l) trials.push_back(layer_of(l == 3 ? 4 : 2, {7, 8}));
  const std::vector<Candidate> c = candidates(trials);
  REQUIRE(c.size() == 14);
  CHECK(c[0].cost == std::vector<double>{8, 4, 2});
  CHECK(c[2].cost == std::vector<double>{8, 4, 2});
  CHECK(c[4].cost == std::vector<double>{4, 2, 1});
  CHECK(c[6].cost == std::vector<double>{2, 1, 0.5});
  CHECK(c[8].cost == std::vector<double>{8, 4, 2});
  CHECK(c[13].cost == std::vector<double>{8, 4, 2});
  CHECK(c[13].layer == 6);
  for (size_t i = 0; i < c.size(); ++i) CHECK(c[i].locked == (i % 2 == 0));
}

}  // namespace
}  // namespace rota
