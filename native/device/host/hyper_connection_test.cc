// Hyper-connections: known Sinkhorn matrices and the algebra of the copies.
#include "device/host/hyper_connection.h"

#include <doctest/doctest.h>

#include <cmath>

#include "device/host/test_values.h"

namespace rota {
namespace {

constexpr float kZ0[16] = {1, 0, -1, 2, .5f, -.5f, 1, 0, 2, 1, 0, -1, 0, 0, 0, 3};

void check_sinkhorn(float factor, const double (&expected)[16], double tolerance) {
  float z[16];
  for (int i = 0; i < 16; ++i) z[i] = factor * kZ0[i];
  sinkhorn(z, 4, 20, 1e-6f);
  for (int i = 0; i < 16; ++i) CHECK(std::fabs(z[i] - expected[i]) <= tolerance);
}

TEST_CASE("twenty Sinkhorn steps of a gentle matrix") {
  check_sinkhorn(1,
                 {.300435, .267684, .088094, .343785, .174875, .155811, .624663, .04465, .453482,
                  .404045, .132968, .009505, .071207, .172459, .154274, .602059},
                 1e-6);
}

// Not converged after 20 steps: 19 steps, rows last or no epsilon differ by 1.6e-3, 4.5e-2 and
// 6e-3.
TEST_CASE("twenty Sinkhorn steps of a harsh matrix, ending on columns") {
  check_sinkhorn(
      4,
      {.4568625, .423777, 8.608319e-4, .1067903, .02783879, .02575777, .9911239, 1.613158e-5,
       .5138074, .4752075, 8.330150e-4, 1.575719e-8, 1.490419e-3, .07525674, 7.181255e-3, .8931926},
      2e-6);
}

TEST_CASE(
    "coefficients: pre has the epsilon, post is doubled and has none, the mix is normed by the "
    "stream") {
  const HcParams params{2, 20, 1e-20f, 1e-6f};
  const float h[4] = {3, -3, 3, 3};  // root mean square 3
  const float mix[8] = {3, -3, 6, 0, 0, 0, 0, 0}, base[8] = {0, 0, 0, 1, 0, 0, 0, 0},
              scale[3] = {1, 0.5f, 2};
  float pre[2], post[2], comb[4];
  hc_coefficients_row(params, h, 2, mix, base, scale, pre, post, comb);
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  CHECK(pre[0] == doctest::Approx(sigmoid(1) + 1e-6));
  CHECK(pre[1] == doctest::Approx(sigmoid(-1) + 1e-6));
  CHECK(post[0] == doctest::Approx(2 * sigmoid(1)));
  CHECK(post[1] == doctest::Approx(2 * sigmoid(1)));
  for (const float c : comb) CHECK(c == doctest::Approx(0.5).epsilon(1e-5));
}

TEST_CASE("pre never reaches zero: the epsilon is added after the sigmoid") {
  const HcParams params{2, 20, 1e-20f, 1e-6f};
  const float h[2] = {1, 1}, mix[8] = {}, base[8] = {-100, 0, 0, 0, 0, 0, 0, 0},
              scale[3] = {1, 1, 1};
  float pre[2], post[2], comb[4];
  hc_coefficients_row(params, h, 1, mix, base, scale, pre, post, comb);
  CHECK(pre[0] == 1e-6f);
  CHECK(pre[1] == 0.5f + 1e-6f);
}

TEST_CASE("large coefficients do not overflow the softmax") {
  float z[4] = {300, 0, -300, 200};
  sinkhorn(z, 2, 20, 1e-6f);
  CHECK(z[0] == doctest::Approx(1));
  CHECK(z[3] == doctest::Approx(1));
}

TEST_CASE("expansion sums over the input copy, the first index") {
  float h[4] = {1, 2, 10, 20};  // two copies of two channels
  const float y[2] = {100, 200}, post[2] = {1, 2}, comb[4] = {.5f, .25f, .125f, 1};
  hc_expand_row(h, y, post, comb, 2, 2);
  CHECK(h[0] == 100 + .5f * 1 + .125f * 10);
  CHECK(h[1] == 200 + .5f * 2 + .125f * 20);
  CHECK(h[2] == 200 + .25f * 1 + 10);
  CHECK(h[3] == 400 + .25f * 2 + 20);
}

TEST_CASE("collapse weighs the copies, the tap averages them") {
  const float h[6] = {1, 2, 3, 10, 20, 30}, m[2] = {2, .5f};
  float x[3], mean[3];
  hc_collapse_row(h, m, 2, 3, x);
  hc_mean_row(h, 2, 3, mean);
  for (int d = 0; d < 3; ++d) {
    CHECK(x[d] == 2 * h[d] + .5f * h[3 + d]);
    CHECK(mean[d] == (h[d] + h[3 + d]) / 2);
  }
}

}  // namespace
}  // namespace rota
