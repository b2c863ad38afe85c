// Small matrices and plain linear algebra for the tests of this room: slow, and written from the
// definitions.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "device/host/test_values.h"

namespace rota {

// Inputs whose columns go together, as activations do: rows of n values around a few directions.
inline std::vector<float> alike_inputs(uint64_t seed, size_t rows, size_t n) {
  constexpr size_t kDirections = 3;
  const std::vector<float> directions = test_values(seed, kDirections * n);
  const std::vector<float> weights = test_values(seed + 1, rows * kDirections);
  std::vector<float> x = test_values(seed + 2, rows * n, 0.3);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t d = 0; d < kDirections; ++d) {
      for (size_t i = 0; i < n; ++i) {
        x[r * n + i] += weights[r * kDirections + d] * directions[d * n + i];
      }
    }
  }
  return x;
}

// x^T x, whole, in double.
inline std::vector<double> gram_of(const std::vector<float>& x, size_t rows, size_t n) {
  std::vector<double> h(n * n, 0.0);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < n; ++k) {
        h[i * n + k] += static_cast<double>(x[r * n + i]) * static_cast<double>(x[r * n + k]);
      }
    }
  }
  return h;
}

// a z = b by Gauss with pivots.
inline std::vector<double> solved(std::vector<double> a, std::vector<double> b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t r = i + 1; r < n; ++r) {
      if (std::fabs(a[r * n + i]) > std::fabs(a[pivot * n + i])) pivot = r;
    }
    for (size_t c = 0; c < n; ++c) std::swap(a[i * n + c], a[pivot * n + c]);
    std::swap(b[i], b[pivot]);
    for (size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = a[r * n + i] / a[i * n + i];
      for (size_t c = i; c < n; ++c) a[r * n + c] -= factor * a[i * n + c];
      b[r] -= factor * b[i];
    }
  }
  for (size_t i = 0; i < n; ++i) b[i] /= a[i * n + i];
  return b;
}

// How columns j + 1 .. best answer a unit of error in column j, for a Hessian h[n, n]: the change
// that makes the whole quadratic form least, columns before j being past.
inline std::vector<double> best_answer(const std::vector<double>& h, size_t n, size_t j) {
  const size_t rest = n - j - 1;
  std::vector<double> a(rest * rest), b(rest);
  for (size_t i = 0; i < rest; ++i) {
    for (size_t k = 0; k < rest; ++k) a[i * rest + k] = h[(j + 1 + i) * n + j + 1 + k];
    b[i] = -h[(j + 1 + i) * n + j];
  }
  return solved(std::move(a), std::move(b));
}

// e^T h e for e = w - values.
inline double form(const std::vector<double>& h, const std::vector<double>& e) {
  double sum = 0;
  for (size_t i = 0; i < e.size(); ++i) {
    for (size_t k = 0; k < e.size(); ++k) sum += e[i] * h[i * e.size() + k] * e[k];
  }
  return sum;
}

}  // namespace rota
