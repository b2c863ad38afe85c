// Rotation frequencies of both kinds of layer against the release's numbers.
#include "model/rope_table.h"

#include <doctest/doctest.h>

#include <cmath>

namespace rota {
namespace {

Config release() {
  Config config;
  config.rope_dim = 64;
  config.rope_original_len = 65536;
  return config;
}

TEST_CASE("YaRN's ramp over the release's 32 frequencies") {
  const std::vector<float> f = compressed_frequencies(release());
  REQUIRE(f.size() == 32);
  constexpr std::pair<size_t, double> kKnown[] = {{0, 1},
                                                  {1, .68765604},
                                                  {14, .0052868566},
                                                  {15, .0036355385},
                                                  {16, .0022656249},
                                                  {20, .00029697779},
                                                  {25, 5.3723124e-06},
                                                  {31, 5.6805294e-07}};
  for (const auto& [i, value] : kKnown) CHECK(f[i] == doctest::Approx(value).epsilon(2e-7));
}

TEST_CASE("window layers have plain frequencies of the other base") {
  const std::vector<float> f = window_frequencies(release());
  REQUIRE(f.size() == 32);
  for (size_t i = 0; i < 32; ++i)
    CHECK(f[i] == static_cast<float>(std::pow(10000.0, -static_cast<double>(i) / 32)));
}

}  // namespace
}  // namespace rota
