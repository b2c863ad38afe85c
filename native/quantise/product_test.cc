// Products against their definition, at every edge of the tiles, and that a sum's bits know nothing
// of the shapes around it.
#include "quantise/product.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/cpu_features.h"
#include "quantise/quantise_fixture.h"

namespace rota {
namespace {

std::vector<float> product(size_t m, size_t n, size_t k, const std::vector<float>& a,
                           const std::vector<float>& b) {
  std::vector<float> c(m * n, 1.0f);
  add_product(m, n, k, {a.data(), k, 1}, b.data(), n, c.data(), n);
  return c;
}

TEST_CASE("products at the edges of tiles and chains") {
  for (const size_t m : {1u, 5u, 6u, 7u, 13u}) {
    for (const size_t n : {1u, 15u, 16u, 17u, 40u}) {
      for (const size_t k : {1u, 255u, 256u, 300u, 513u}) {
        const std::vector<float> a = test_values(1, m * k), b = test_values(2, k * n);
        const std::vector<float> c = product(m, n, k, a, b);
        for (size_t i = 0; i < m; ++i) {
          for (size_t j = 0; j < n; ++j) {
            double sum = 1, size = 1;
            for (size_t x = 0; x < k; ++x) {
              const double term =
                  static_cast<double>(a[i * k + x]) * static_cast<double>(b[x * n + j]);
              sum += term;
              size += std::fabs(term);
            }
            // A chain of k roundings, each of half a unit of the partial sum.
            const double bound = 0x1p-24 * static_cast<double>(k + 2) * size;
            CHECK(std::fabs(static_cast<double>(c[i * n + j]) - sum) <= bound);
          }
        }
      }
    }
  }
}

TEST_CASE("an element's bits are the same in any shape, and from either side of a transpose") {
  const size_t m = 13, n = 33, k = 300;
  const std::vector<float> a = test_values(3, m * k), b = test_values(4, k * n);
  const std::vector<float> whole = product(m, n, k, a, b);
  for (size_t i = 0; i < m; ++i) {
    std::vector<float> row(n, 1.0f);
    add_product(1, n, k, {a.data() + i * k, k, 1}, b.data(), n, row.data(), n);
    CHECK(std::memcmp(row.data(), whole.data() + i * n, n * sizeof(float)) == 0);
  }
  std::vector<float> turned(k * m), again(m * n, 1.0f);
  for (size_t i = 0; i < m; ++i) {
    for (size_t x = 0; x < k; ++x) turned[x * m + i] = a[i * k + x];
  }
  add_product(m, n, k, {turned.data(), 1, m}, b.data(), n, again.data(), n);
  CHECK(again == whole);
}

TEST_CASE("both tiles agree to rounding") {
  if (!cpu_features().avx2) {
    MESSAGE("waived: this CPU has no AVX2");
    return;
  }
  const size_t k = 256;
  const std::vector<float> a = test_values(5, 6 * k), panel = test_values(6, k * 16);
  for (size_t rows = 1; rows <= 6; ++rows) {
    std::vector<float> x(6 * 16), y(6 * 16);
    product_internal::portable_tile(rows, k, {a.data(), k, 1}, panel.data(), x.data());
    product_internal::avx2_tile(rows, k, {a.data(), k, 1}, panel.data(), y.data());
    for (size_t i = 0; i < rows * 16; ++i) {
      CHECK(std::fabs(x[i] - y[i]) <= 0x1p-23f * static_cast<float>(k));
    }
  }
}

TEST_CASE("the upper triangle of a gram matrix") {
  const size_t rows = 300, n = 70;
  const std::vector<float> x = test_values(7, rows * n);
  const std::vector<double> expected = gram_of(x, rows, n);
  std::vector<float> h(n * n, 0.0f);
  add_gram(x.data(), rows, n, h.data());
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = i; k < n; ++k) {
      CHECK(std::fabs(static_cast<double>(h[i * n + k]) - expected[i * n + k]) <=
            0x1p-24 * (rows + 2) * rows);
    }
  }
}

}  // namespace
}  // namespace rota
