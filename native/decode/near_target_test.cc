// Drafts at a stated distance.
#include "decode/near_target.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "base/rng.h"

namespace rota {
namespace {

double sum(const std::vector<float>& values) {
  double total = 0;
  for (const float v : values) total += static_cast<double>(v);
  return total;
}

double overlap(const std::vector<float>& p, const std::vector<float>& q) {
  double total = 0;
  for (size_t i = 0; i < p.size(); ++i) total += static_cast<double>(std::min(p[i], q[i]));
  return total;
}

}  // namespace

TEST_CASE("the overlap with the target is what was asked for") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    // Some tokens outside the kept set, as after top-p; now and then nearly all on one token.
    std::vector<float> p(static_cast<size_t>(2 + seed));
    for (size_t i = 0; i < p.size(); ++i) {
      const auto x = static_cast<float>(unit_double(splitmix64(seed * 1000 + i)));
      p[i] = i % 3 == 2 ? 0.f : x * x * (i == 1 && seed % 4 == 0 ? 100.f : 1.f);
    }
    const double total = sum(p);
    for (float& x : p) x = static_cast<float>(static_cast<double>(x) / total);
    const double least = static_cast<double>(*std::min_element(p.begin(), p.end()));
    for (const double accept : {0.0, 0.1, 0.5, 0.9, 1.0}) {
      std::vector<float> q(p.size());
      near_target(p, accept, q);
      CHECK(sum(q) == doctest::Approx(1).epsilon(1e-5));
      CHECK(overlap(p, q) == doctest::Approx(std::max(accept, least)).epsilon(1e-5));
      CHECK(*std::min_element(q.begin(), q.end()) >= 0);
    }
  }
}

TEST_CASE("what is missing is the head, so that the residual is not the target") {
  const std::vector<float> p = {0.4f, 0.3f, 0.2f, 0.1f, 0};
  std::vector<float> q(5);
  near_target(p, 0.5, q);
  CHECK(q[0] == 0);
  CHECK(q[1] == doctest::Approx(0.2));
  CHECK(q[2] == p[2]);
  CHECK(q[3] == p[3]);
  CHECK(q[4] == doctest::Approx(0.5));
}

}  // namespace rota
