// Dot and axpy in both variants, at every length, within the bound of their chains.
#include "device/host/vector_ops.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/cpu_features.h"
#include "device/host/test_values.h"

namespace rota {
namespace {

std::vector<VectorOps> variants() {
  std::vector<VectorOps> out = {kPortableVectorOps};
  if (cpu_features().avx2) out.push_back(kAvx2VectorOps);
  return out;
}

TEST_CASE("dot agrees with double precision within the bound of its chains, at every length") {
  for (const VectorOps& ops : variants()) {
    for (const size_t n : {0u, 1u, 7u, 31u, 32u, 33u, 63u, 100u, 512u, 5120u}) {
      const std::vector<float> x = test_values(1, n), y = test_values(2, n);
      double sum = 0, magnitude = 0;
      for (size_t i = 0; i < n; ++i) {
        sum += static_cast<double>(x[i]) * y[i];
        magnitude += std::fabs(static_cast<double>(x[i]) * y[i]);
      }
      // n / 32 steps of two roundings a lane, five levels of the tree.
      const double bound = (static_cast<double>(n) / 16 + 7) * 0x1p-24 * magnitude;
      CHECK(std::fabs(ops.dot(x.data(), y.data(), n) - sum) <= bound);
    }
  }
}

TEST_CASE("axpy rounds once or twice an element and leaves the rest alone") {
  for (const VectorOps& ops : variants()) {
    for (const size_t n : {0u, 1u, 7u, 8u, 9u, 64u, 100u}) {
      const std::vector<float> x = test_values(3, n + 1), before = test_values(4, n + 1);
      std::vector<float> y = before;
      ops.axpy(0.75f, x.data(), y.data(), n);
      for (size_t i = 0; i < n; ++i) {
        const double exact = 0.75 * x[i] + before[i];
        CHECK(std::fabs(y[i] - exact) <= 0x1p-24 * (std::fabs(0.75 * x[i]) + std::fabs(exact)));
      }
      CHECK(y[n] == before[n]);
    }
  }
}

}  // namespace
}  // namespace rota
