// The small row operations against their formulas, ties and thresholds included.
#include "device/host/row_ops.h"

#include <doctest/doctest.h>

#include <cmath>

#include "device/host/test_values.h"

namespace rota {
namespace {

TEST_CASE("rms scales to unit mean square, then by the weight") {
  const float x[4] = {2, -2, 2, -2}, w[4] = {1, 2, 3, .5f};
  float y[4];
  rms_row(x, w, 4, 1e-20f, y);
  CHECK(y[0] == doctest::Approx(1));
  CHECK(y[1] == doctest::Approx(-2));
  CHECK(y[2] == doctest::Approx(3));
  CHECK(y[3] == doctest::Approx(-.5));
}

TEST_CASE("rms of a zero row is zero, for the epsilon of the release is 1e-20") {
  const float x[2] = {0, 0}, w[2] = {1, 1};
  float y[2] = {5, 5};
  rms_row(x, w, 2, 1e-20f, y);
  CHECK(y[0] == 0);
  CHECK(y[1] == 0);
}

TEST_CASE("rotation turns adjacent pairs of the trailing channels, far beyond 65536 too") {
  const float freq[2] = {1.0f, 0.01f};
  for (const int position : {0, 1, 1000, 70001, 1000003}) {
    const std::vector<float> before = test_values(5, 12);
    std::vector<float> x = before;
    rope_row(x.data(), 2, 6, freq, 2, position, false);
    for (size_t head = 0; head < 2; ++head) {
      CHECK(x[6 * head] == before[6 * head]);
      CHECK(x[6 * head + 1] == before[6 * head + 1]);
      for (size_t i = 0; i < 2; ++i) {
        const double angle =
            static_cast<float>(position) * freq[i];  // fp32, as the released tables hold it
        const double a = before[6 * head + 2 + 2 * i], b = before[6 * head + 3 + 2 * i];
        CHECK(std::fabs(x[6 * head + 2 + 2 * i] - (a * std::cos(angle) - b * std::sin(angle))) <=
              4 * 0x1p-23);
        CHECK(std::fabs(x[6 * head + 3 + 2 * i] - (a * std::sin(angle) + b * std::cos(angle))) <=
              4 * 0x1p-23);
      }
    }
    rope_row(x.data(), 2, 6, freq, 2, position, true);
    for (size_t i = 0; i < 12; ++i) CHECK(std::fabs(x[i] - before[i]) <= 8 * 0x1p-23);
  }
}

TEST_CASE("a group is the gate's softmax over its tokens, channel by channel") {
  const float k0[2] = {1, 10}, k1[2] = {3, 20}, g0[2] = {0, 100}, g1[2] = {0, -100};
  const float *kv[2] = {k0, k1}, *gate[2] = {g0, g1};
  float out[2];
  compress_group(kv, gate, 2, 2, out);
  CHECK(out[0] == doctest::Approx(2));
  CHECK(out[1] == doctest::Approx(10));
  compress_group(kv, nullptr, 1, 2, out);
  CHECK(out[0] == 1);
  CHECK(out[1] == 10);
}

TEST_CASE("the engram gate follows its formula with the signed root") {
  const size_t dim = 8, mult = 2;
  const std::vector<float> kv = test_values(6, (mult + 1) * dim), qw = test_values(7, mult * dim),
                           kw = test_values(8, mult * dim);
  const std::vector<float> before = test_values(9, mult * dim);
  std::vector<float> h = before;
  engram_gate_row(h.data(), kv.data(), qw.data(), kw.data(), mult, dim, 1e-20f);
  for (size_t c = 0; c < mult; ++c) {
    double d = 0, hh = 0, kk = 0;
    for (size_t i = c * dim; i < (c + 1) * dim; ++i) {
      d += static_cast<double>(before[i]) * qw[i] * kw[i] * kv[i];
      hh += static_cast<double>(before[i]) * before[i];
      kk += static_cast<double>(kv[i]) * kv[i];
    }
    d = d / std::sqrt(hh / dim) / std::sqrt(kk / dim) / std::sqrt(static_cast<double>(dim));
    const double root = std::copysign(std::sqrt(std::max(std::fabs(d), 1e-6)), d);
    for (size_t i = 0; i < dim; ++i) {
      const double expected = before[c * dim + i] + kv[mult * dim + i] / (1 + std::exp(-root));
      CHECK(std::fabs(h[c * dim + i] - expected) <= 1e-5);
    }
  }
}

TEST_CASE("a gate argument below 1e-6 counts as 1e-6 with its sign") {
  float h[2] = {0, 0};
  const float kv[4] = {1, 1, 5, 7}, ones[2] = {1, 1};
  engram_gate_row(h, kv, ones, ones, 1, 2, 1e-20f);
  CHECK(h[0] == doctest::Approx(5 / (1 + std::exp(-1e-3))).epsilon(1e-6));
}

TEST_CASE("softplus is the identity above 20 and only there") {
  CHECK(softplus(20.5f) == 20.5f);
  CHECK(softplus(200.f) == 200.f);
  CHECK(softplus(0.f) == doctest::Approx(std::log(2.0)));
  CHECK(softplus(-30.f) == doctest::Approx(std::exp(-30.0)).epsilon(1e-6));
  // At 15 the logarithm's own term still shows in fp32; a threshold below it would lose 3e-7.
  CHECK(softplus(10.f) == doctest::Approx(10.0000453989).epsilon(1e-7));
  CHECK(softplus(10.f) > 10.00003f);
}

struct Routed {
  int ids[3];
  float weights[3];
};

Routed route(const std::vector<float>& logits, const std::vector<float>& bias,
             const float* selection_bias) {
  Routed out;
  std::vector<float> scratch(logits.size());
  route_row(logits.data(), bias.data(), selection_bias, static_cast<int>(logits.size()), 3, 1.5f,
            scratch.data(), out.ids, out.weights);
  return out;
}

TEST_CASE("routing: equal scores go to the lowest index, best first") {
  const Routed r = route({0, 1, 1, 0, 1}, std::vector<float>(5, 0.f), nullptr);
  CHECK(r.ids[0] == 1);
  CHECK(r.ids[1] == 2);
  CHECK(r.ids[2] == 4);
  for (const float w : r.weights) CHECK(w == doctest::Approx(0.5));
}

TEST_CASE("routing: biases choose, unbiased scores weigh") {
  const std::vector<float> logits = {3, 2, 1, 0}, bias = {0, 0, 0, 10};
  const float selection[4] = {-20, 0, 0, 0};
  const auto score = [](double x) { return std::sqrt(std::log1p(std::exp(x))); };
  const Routed plain = route(logits, bias, nullptr);
  CHECK(plain.ids[0] == 3);
  CHECK(plain.ids[1] == 0);
  CHECK(plain.ids[2] == 1);
  const double total = score(0) + score(3) + score(2);
  CHECK(plain.weights[0] == doctest::Approx(1.5 * score(0) / total));
  CHECK(plain.weights[1] == doctest::Approx(1.5 * score(3) / total));
  const Routed biased = route(logits, bias, selection);
  CHECK(biased.ids[1] == 1);
  CHECK(biased.ids[2] == 2);
  CHECK(biased.weights[1] == doctest::Approx(1.5 * score(2) / (score(0) + score(2) + score(1))));
}

TEST_CASE("routing chooses distinct experts even where every score is minus infinity") {
  const float low[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  const Routed r = route({0, 0, 0, 0}, std::vector<float>(4, 0.f), low);
  CHECK(r.ids[0] == 0);
  CHECK(r.ids[1] == 1);
  CHECK(r.ids[2] == 2);
}

TEST_CASE("the largest is the lowest of equals, and no NaN while there is another") {
  const auto of = [](const std::vector<float>& x) {
    return largest_of_row(x.data(), static_cast<int>(x.size()));
  };
  CHECK(of({3}) == 0);
  CHECK(of({-2, -1, -3}) == 1);
  CHECK(of({1, 5, 2, 5}) == 1);
  CHECK(of({-0.f, 0.f}) == 0);
  CHECK(of({NAN, -INFINITY, NAN}) == 1);
  CHECK(of({-INFINITY, NAN, -INFINITY}) == 0);
  CHECK(of({NAN, NAN}) == 0);
}

}  // namespace
}  // namespace rota
