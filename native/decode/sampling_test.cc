// Distributions against hand-made numbers, and speculative sampling against the target's
// distribution.
#include "decode/sampling.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

namespace rota {
namespace {

SamplingParams params(double temperature, double top_p, uint64_t seed = 1) {
  SamplingParams p;
  p.temperature = temperature;
  p.top_p = top_p;
  p.seed = seed;
  return p;
}

std::vector<float> fill(const std::vector<float>& logits, const SamplingParams& p) {
  Distribution distribution(static_cast<int>(logits.size()));
  std::vector<float> out(logits.size());
  distribution.fill(logits, p, out);
  return out;
}

// Pearson's statistic of counts against expected probabilities; cells of probability 0 must be
// empty.
double chi_square(const std::map<int, int>& counts, const std::vector<float>& p, int n) {
  double statistic = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const auto it = counts.find(static_cast<int>(i));
    const double seen = it == counts.end() ? 0 : it->second;
    if (p[i] == 0) {
      CHECK(seen == 0);
      continue;
    }
    const double expected = static_cast<double>(p[i]) * n;
    statistic += (seen - expected) * (seen - expected) / expected;
  }
  return statistic;
}

}  // namespace

TEST_CASE("argmax takes the lowest id of equals") {
  CHECK(argmax(std::vector<float>{1, 3, 3, 2}) == 1);
  CHECK(argmax(std::vector<float>{-5}) == 0);
}

TEST_CASE("temperature scales and top-p keeps the smallest sufficient set") {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.3f), std::log(0.15f),
                                     std::log(0.05f)};
  auto p = fill(logits, params(1, 1));
  CHECK(p[0] == doctest::Approx(0.5));
  CHECK(p[3] == doctest::Approx(0.05));
  p = fill(logits, params(0.5, 1));
  CHECK(p[0] == doctest::Approx(0.25 / (0.25 + 0.09 + 0.0225 + 0.0025)));
  p = fill(logits, params(1, 0.79));
  CHECK(p[0] == doctest::Approx(0.625));
  CHECK(p[1] == doctest::Approx(0.375));
  CHECK(p[2] == 0);
  p = fill(logits, params(1, 0.0001));
  CHECK(p[0] == 1);
  p = fill({2, 2, 2, 2}, params(1, 0.5));  // ties: the lowest ids
  CHECK(p == std::vector<float>{0.5f, 0.5f, 0, 0});
}

TEST_CASE("top-p over a large vocabulary keeps what a full sort keeps") {
  std::vector<float> logits;
  UniformSource u(3);
  for (int i = 0; i < 5000; ++i) logits.push_back(static_cast<float>(u.next()));
  const auto all = fill(logits, params(1, 1));
  const auto p = fill(logits, params(1, 0.4));
  double kept = 0;
  float smallest = 1, largest_dropped = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] > 0) {
      kept += static_cast<double>(all[i]);
      smallest = std::min(smallest, all[i]);
    } else {
      largest_dropped = std::max(largest_dropped, all[i]);
    }
  }
  CHECK(kept >= 0.4 - 1e-6);
  CHECK(kept - static_cast<double>(smallest) < 0.4);
  CHECK(smallest >= largest_dropped);
}

TEST_CASE("a sample is at its quantile and never of probability zero") {
  const std::vector<float> p = {0, 0.25f, 0, 0.75f, 0};
  CHECK(sample(p, 0) == 1);
  CHECK(sample(p, 0.2499) == 1);
  CHECK(sample(p, 0.2501) == 3);
  CHECK(sample(p, 1.0) == 3);
}

TEST_CASE("uniform numbers depend on the seed and the count alone") {
  UniformSource a(5), b(5), c(6);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double u = a.next();
    CHECK(u == b.next());
    CHECK(u >= 0);
    CHECK(u < 1);
    sum += u;
  }
  CHECK(sum / 10000 == doctest::Approx(0.5).epsilon(0.02));
  CHECK(a.next() != c.next());
}

// 99.9 % quantile of chi-square with 5 degrees of freedom is 20.5, with 3 is 16.3.
TEST_CASE("speculative sampling is distributed as the target, whatever the draft was") {
  const std::vector<float> target = {1.2f, 0.1f, -0.4f, 0.9f, -2.0f, 0.3f};
  const std::vector<std::vector<float>> drafts = {
      {1.2f, 0.1f, -0.4f, 0.9f, -2.0f, 0.3f},  // the same
      {-1.0f, 2.0f, 0.0f, 0.5f, 1.5f, -3.0f},  // another
      {9.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f},    // nearly always one token
  };
  for (const SamplingParams& filter : {params(1, 1), params(0.7, 0.8)}) {
    const auto p = fill(target, filter);
    for (const auto& draft : drafts) {
      const auto q = fill(draft, filter);
      std::vector<float> workspace(p.size());
      std::map<int, int> counts;
      const int n = 60000;
      int accepted = 0;
      for (int i = 0; i < n; ++i) {
        UniformSource u(static_cast<uint64_t>(i) + 1000);
        const int token = sample(q, u.next());
        const auto at = static_cast<size_t>(token);
        if (accept_drafted(p[at], q[at], u.next())) {
          ++accepted;
          ++counts[token];
        } else {
          ++counts[sample_residual(p, q, u.next(), workspace)];
        }
      }
      CHECK(chi_square(counts, p, n) < 20.5);
      double overlap = 0;  // the acceptance rate is sum min(p, q)
      for (size_t i = 0; i < p.size(); ++i) overlap += static_cast<double>(std::min(p[i], q[i]));
      CHECK(accepted / static_cast<double>(n) == doctest::Approx(overlap).epsilon(0.03));
    }
  }
}

TEST_CASE("the test of distribution has power: always keeping the draft fails it") {
  const auto p = fill({1.2f, 0.1f, -0.4f, 0.9f, -2.0f, 0.3f}, params(1, 1));
  const auto q = fill({1.0f, 0.4f, -0.4f, 0.9f, -2.0f, 0.3f}, params(1, 1));
  std::map<int, int> counts;
  for (int i = 0; i < 60000; ++i) {
    UniformSource u(static_cast<uint64_t>(i) + 1000);
    ++counts[sample(q, u.next())];
  }
  CHECK(chi_square(counts, p, 60000) > 20.5);
}

}  // namespace rota
