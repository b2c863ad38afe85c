// GPTQ against the definition it is an efficient form of, and against all codes there are.
#include "quantise/gptq.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "quantise/product.h"
#include "quantise/quantise_fixture.h"

namespace rota {
namespace {

InverseFactor factor_of(const std::vector<float>& x, size_t rows, size_t n) {
  std::vector<float> h(n * n, 0.0f);
  add_gram(x.data(), rows, n, h.data());
  return inverse_factor(h.data(), n);
}

std::vector<double> damped(std::vector<double> h, size_t n) {
  double mean = 0;
  for (size_t i = 0; i < n; ++i) mean += h[i * n + i] / static_cast<double>(n);
  for (size_t i = 0; i < n; ++i) h[i * n + i] += kDamping * mean;
  return h;
}

TEST_CASE("the factor carries an error into the columns behind it as least squares would") {
  const size_t n = 20, rows = 50;
  const std::vector<float> x = alike_inputs(1, rows, n);
  const InverseFactor factor = factor_of(x, rows, n);
  const std::vector<double> h = damped(gram_of(x, rows, n), n);
  for (size_t j = 0; j + 1 < n; ++j) {
    const std::vector<double> expected = best_answer(h, n, j);
    for (size_t k = j + 1; k < n; ++k) {
      CHECK(static_cast<double>(factor.carry[j * n + k]) ==
            doctest::Approx(expected[k - j - 1]).epsilon(1e-3).scale(0.01));
    }
    for (size_t k = 0; k <= j; ++k) CHECK(factor.carry[j * n + k] == 0);
  }
}

TEST_CASE("nothing seen: every column counts alike and no error travels") {
  const std::vector<float> zeros(16, 0.0f);
  const InverseFactor factor = inverse_factor(zeros.data(), 4);
  CHECK(factor.importance == std::vector<float>(4, 1.0f));
  CHECK(factor.carry == zeros);
}

// A row of one Q2_0 block in which only the first kLive columns hold anything.
constexpr size_t kLive = 6, kBlock = 64, kSeen = 40;

struct SmallCase {
  std::vector<float> w = std::vector<float>(kBlock, 0.0f), x;
  std::vector<double> hessian;  // [kLive, kLive], damped as the factor's
  Scales scales;
  InverseFactor factor;

  explicit SmallCase(uint64_t seed) {
    const std::vector<float> live = alike_inputs(seed, kSeen, kLive);
    x.assign(kSeen * kBlock, 0.0f);
    for (size_t r = 0; r < kSeen; ++r) {
      std::copy_n(&live[r * kLive], kLive, &x[r * kBlock]);
    }
    const std::vector<float> weights = test_values(seed + 9, kLive);
    std::copy_n(weights.begin(), kLive, w.begin());
    factor = factor_of(x, kSeen, kBlock);
    const std::vector<double> whole = damped(gram_of(x, kSeen, kBlock), kBlock);
    for (size_t i = 0; i < kLive; ++i) {
      for (size_t k = 0; k < kLive; ++k) hessian.push_back(whole[i * kBlock + k]);
    }
    scales = search_scales(Format::kQ2_0, w.data(), 1, kBlock, factor.importance.data());
  }

  double error(const std::vector<int8_t>& codes) const {
    std::vector<double> off(kLive);
    for (size_t i = 0; i < kLive; ++i) {
      off[i] = static_cast<double>(w[i]) -
               static_cast<double>(scales.step(0, 0) * static_cast<float>(codes[i]));
    }
    return form(hessian, off);
  }
};

// The definition: round a column, solve for the columns behind it anew, go on.
std::vector<int8_t> by_definition(const SmallCase& c) {
  std::vector<double> w(c.w.begin(), c.w.begin() + kLive);
  std::vector<int8_t> codes(kBlock, 0);
  const float step = c.scales.step(0, 0);
  for (size_t j = 0; j < kLive; ++j) {
    codes[j] = nearest_code(static_cast<float>(w[j]), step, code_rule(Format::kQ2_0));
    const double error = w[j] - static_cast<double>(step * static_cast<float>(codes[j]));
    if (j + 1 == kLive) break;
    const std::vector<double> answer = best_answer(c.hessian, kLive, j);
    for (size_t k = j + 1; k < kLive; ++k) w[k] -= error * answer[k - j - 1];
  }
  return codes;
}

double least_of_all(const SmallCase& c) {
  std::vector<int8_t> codes(kBlock, 0);
  double least = c.error(codes);
  for (int i = 0; i < 1 << (2 * kLive); ++i) {
    for (size_t k = 0; k < kLive; ++k) codes[k] = static_cast<int8_t>(((i >> (2 * k)) & 3) - 1);
    least = std::min(least, c.error(codes));
  }
  return least;
}

TEST_CASE("small cases: the definition's codes, never below the best of all 4096, mostly near it") {
  double best = 0, found = 0, nearest = 0;
  for (uint64_t seed = 100; seed < 160; ++seed) {
    CAPTURE(seed);
    const SmallCase c(seed);
    const std::vector<int8_t> codes = gptq(c.w.data(), c.scales, c.factor);
    CHECK(codes == by_definition(c));
    const double least = least_of_all(c);
    CHECK(c.error(codes) >= least * (1 - 1e-9));
    best += least;
    found += c.error(codes);
    nearest += c.error(nearest_codes(c.w.data(), c.scales));
  }
  // What the best of all codes gains over rounding, GPTQ gets most of.
  CHECK(nearest > 1.5 * best);
  CHECK(nearest - found > 0.5 * (nearest - best));
}

TEST_CASE("bands do not show: a wide matrix as column by column") {
  const size_t rows = 7, n = 256, seen = 400;
  const std::vector<float> w = test_values(5, rows * n), x = alike_inputs(6, seen, n);
  const InverseFactor factor = factor_of(x, seen, n);
  for (const Format format : {Format::kPTQ1_0, Format::kQ2_0, Format::kQ3_K}) {
    CAPTURE(format_info(format).name);
    const Scales scales = search_scales(format, w.data(), rows, n, factor.importance.data());
    std::vector<double> left(w.begin(), w.end());
    std::vector<int8_t> expected(rows * n);
    size_t differing = 0;
    const std::vector<int8_t> codes = gptq(w.data(), scales, factor);
    const CodeRule& rule = code_rule(format);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t j = 0; j < n; ++j) {
        const float step = scales.step(r, j / rule.group);
        // Follows the codes that were found, so that one tie does not part the two for good.
        const float now = static_cast<float>(left[r * n + j]);
        if (nearest_code(now, step, rule) != codes[r * n + j]) ++differing;
        const double error =
            left[r * n + j] - static_cast<double>(step * static_cast<float>(codes[r * n + j]));
        for (size_t k = j + 1; k < n; ++k) {
          left[r * n + k] -= error * static_cast<double>(factor.carry[j * n + k]);
        }
      }
    }
    CHECK(differing <= 2);  // floats against doubles, at the edge between two codes
  }
}

TEST_CASE("on inputs that go together, the output's error is well below rounding's") {
  const size_t rows = 32, n = 256, seen = 600;
  const std::vector<float> w = test_values(8, rows * n), x = alike_inputs(9, seen, n);
  const InverseFactor factor = factor_of(x, seen, n);
  const std::vector<double> h = gram_of(alike_inputs(9, seen, n), seen, n);
  for (const Format format : {Format::kPTQ1_0, Format::kQ2_0, Format::kQ3_K}) {
    CAPTURE(format_info(format).name);
    const Scales scales = search_scales(format, w.data(), rows, n, factor.importance.data());
    const auto error = [&](const std::vector<int8_t>& codes) {
      double sum = 0;
      for (size_t r = 0; r < rows; ++r) {
        std::vector<double> off(n);
        for (size_t i = 0; i < n; ++i) {
          off[i] = static_cast<double>(w[r * n + i]) -
                   static_cast<double>(scales.step(r, i / code_rule(format).group) *
                                       static_cast<float>(codes[r * n + i]));
        }
        sum += form(h, off);
      }
      return sum;
    };
    CHECK(error(gptq(w.data(), scales, factor)) < 0.5 * error(nearest_codes(w.data(), scales)));
  }
}

}  // namespace
}  // namespace rota
