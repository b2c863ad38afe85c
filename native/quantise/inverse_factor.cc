// H + damping I = R R^T with R upper triangular, from the last row to the first; U = R^-1. Rows are
// kept as rows of R^T and U^T, so that every inner loop is contiguous.
#include "quantise/inverse_factor.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace rota {
namespace {

void subtract(double factor, const double* x, double* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] -= factor * x[i];
}

// a: lower triangle of a symmetric positive matrix -> rows of R^T.
void reverse_cholesky(std::vector<double>& a, size_t n) {
  for (size_t j = n; j-- > 0;) {
    double* row = a.data() + j * n;
    ROTA_CHECK(row[j] > 0, "a damped Hessian must be positive; row", j, "of", n, "has", row[j]);
    const double pivot = std::sqrt(row[j]);
    for (size_t i = 0; i < j; ++i) row[i] /= pivot;
    row[j] = pivot;
    for (size_t i = 0; i < j; ++i) subtract(row[i], row, a.data() + i * n, i + 1);
  }
}

// lower: rows of R^T -> rows of its inverse, U^T.
std::vector<double> invert_lower(const std::vector<double>& lower, size_t n) {
  std::vector<double> inverse(n * n, 0.0);
  for (size_t i = 0; i < n; ++i) {
    double* row = inverse.data() + i * n;
    const double* factors = lower.data() + i * n;
    for (size_t k = 0; k < i; ++k) subtract(factors[k], inverse.data() + k * n, row, k + 1);
    row[i] = 1.0;
    for (size_t k = 0; k <= i; ++k) row[k] /= factors[i];
  }
  return inverse;
}

}  // namespace

InverseFactor inverse_factor(const float* sum, size_t n) {
  InverseFactor out;
  out.n = n;
  out.importance.resize(n);
  double mean = 0;
  for (size_t i = 0; i < n; ++i) {
    out.importance[i] = sum[i * n + i];
    mean += static_cast<double>(sum[i * n + i]) / static_cast<double>(n);
  }
  out.carry.assign(n * n, 0.0f);
  if (mean <= 0) {  // nothing was seen: every column is as good as the next, and no error travels
    std::fill(out.importance.begin(), out.importance.end(), 1.0f);
    return out;
  }
  std::vector<double> a(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) a[i * n + k] = sum[k * n + i];
    a[i * n + i] = static_cast<double>(sum[i * n + i]) + kDamping * mean;
  }
  reverse_cholesky(a, n);
  const std::vector<double> transposed = invert_lower(a, n);
  for (size_t j = 0; j < n; ++j) {
    const double pivot = transposed[j * n + j];
    for (size_t k = j + 1; k < n; ++k) {
      out.carry[j * n + k] = static_cast<float>(transposed[k * n + j] / pivot);
    }
  }
  return out;
}

}  // namespace rota
