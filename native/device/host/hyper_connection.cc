// Hyper-connection arithmetic of one row: the scalar reference is fast enough, for it is
// memory-bound.
#include "device/host/hyper_connection.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "device/host/vector_ops.h"

namespace rota {
namespace {

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

void normalise_columns(float* z, int n, float eps) {
  for (int k = 0; k < n; ++k) {
    float sum = 0;
    for (int j = 0; j < n; ++j) sum += z[j * n + k];
    for (int j = 0; j < n; ++j) z[j * n + k] /= sum + eps;
  }
}

void normalise_rows(float* z, int n, float eps) {
  for (int j = 0; j < n; ++j) {
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += z[j * n + k];
    for (int k = 0; k < n; ++k) z[j * n + k] /= sum + eps;
  }
}

}  // namespace

void sinkhorn(float* z, int n, int iters, float eps) {
  for (int j = 0; j < n; ++j) {
    float* row = z + j * n;
    const float largest = *std::max_element(row, row + n);
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += row[k] = std::exp(row[k] - largest);
    for (int k = 0; k < n; ++k) row[k] = row[k] / sum + eps;
  }
  normalise_columns(z, n, eps);
  for (int i = 1; i < iters; ++i) {
    normalise_rows(z, n, eps);
    normalise_columns(z, n, eps);
  }
}

void hc_coefficients_row(const HcParams& params, const float* h, int dim, const float* mix,
                         const float* base, const float* scale, float* pre, float* post,
                         float* comb) {
  const int n = params.mult;
  ROTA_CHECK(n <= kMaxHcMult, "copies", n);
  const size_t count = static_cast<size_t>(n) * static_cast<size_t>(dim);
  const float mean = vector_ops().dot(h, h, count) / static_cast<float>(count);
  const float norm = 1.0f / std::sqrt(mean + params.rms_eps);
  for (int j = 0; j < n; ++j) {
    pre[j] = sigmoid(mix[j] * norm * scale[0] + base[j]) + params.hc_eps;
    post[j] = 2.0f * sigmoid(mix[n + j] * norm * scale[1] + base[n + j]);
  }
  for (int i = 0; i < n * n; ++i) comb[i] = mix[2 * n + i] * norm * scale[2] + base[2 * n + i];
  sinkhorn(comb, n, params.sinkhorn_iters, params.hc_eps);
}

void hc_collapse_row(const float* h, const float* m, int mult, int dim, float* x) {
  for (int d = 0; d < dim; ++d) x[d] = m[0] * h[d];
  for (int j = 1; j < mult; ++j) {
    const float* copy = h + static_cast<size_t>(j) * static_cast<size_t>(dim);
    for (int d = 0; d < dim; ++d) x[d] += m[j] * copy[d];
  }
}

void hc_expand_row(float* h, const float* y, const float* post, const float* comb, int mult,
                   int dim) {
  const size_t stride = static_cast<size_t>(dim);
  for (size_t d = 0; d < stride; ++d) {
    float in[kMaxHcMult];
    for (int j = 0; j < mult; ++j) in[j] = h[static_cast<size_t>(j) * stride + d];
    for (int k = 0; k < mult; ++k) {
      float sum = 0;
      for (int j = 0; j < mult; ++j) sum += comb[j * mult + k] * in[j];
      h[static_cast<size_t>(k) * stride + d] = post[k] * y[d] + sum;
    }
  }
}

void hc_mean_row(const float* h, int mult, int dim, float* out) {
  const size_t stride = static_cast<size_t>(dim);
  for (size_t d = 0; d < stride; ++d) {
    float sum = 0;
    for (int j = 0; j < mult; ++j) sum += h[static_cast<size_t>(j) * stride + d];
    out[d] = sum / static_cast<float>(mult);
  }
}

}  // namespace rota
