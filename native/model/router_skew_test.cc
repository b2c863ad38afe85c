// Shares of lookups that biases give, and the order that goes with them.
#include "model/router_skew.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace rota {
namespace {

RouterSkew skew(SkewOptions options, int experts, int top_k) {
  auto made = RouterSkew::calibrate(options, 1, 3, experts, top_k);
  REQUIRE_MESSAGE(made.ok(), made.status().message());
  return made.value();
}

TEST_CASE("the calibration finds the stated share, whatever it is") {
  // A step of the curve moves the share by less than this.
  for (const double lookups : {0.28, 0.5, 0.87, 0.99}) {
    CHECK(std::fabs(skew({4288.0 / 15360, lookups}, 384, 6).lookups() - lookups) < 0.002);
  }
  CHECK(std::fabs(skew({0.25, 0.7}, 8, 2).lookups() - 0.7) < 0.002);
}

TEST_CASE("the ranking has every expert once, by falling bias, layers in turn") {
  const RouterSkew s = skew({0.25, 0.6}, 32, 4);
  const auto ranking = s.ranking();
  CHECK(std::set(ranking.begin(), ranking.end()).size() == 3 * 32);
  for (int layer = 0; layer < 3; ++layer) {
    const std::vector<float> biases = s.biases(layer);
    float before = 1e9f;
    for (size_t i = static_cast<size_t>(layer); i < ranking.size(); i += 3) {
      CHECK(ranking[i].first == layer);
      const float bias = biases[static_cast<size_t>(ranking[i].second)];
      CHECK(bias < before);
      before = bias;
    }
    CHECK(biases != s.biases((layer + 1) % 3));
  }
}

TEST_CASE("shares that no bias gives are refused with the numbers") {
  const auto refusal = [](SkewOptions options) {
    return RouterSkew::calibrate(options, 1, 3, 32, 4).status().message();
  };
  CHECK(refusal({0.5, 0.3}) ==
        "50.0 % of the experts cannot get 30.0 % of the lookups when 4 of 32 are chosen");
  CHECK(refusal({0.05, 0.9}) ==
        "5.0 % of the experts cannot get 90.0 % of the lookups when 4 of 32 are chosen");
}

}  // namespace
}  // namespace rota
