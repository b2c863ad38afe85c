// The small operations of one row, in their plain form.
#include "device/host/row_ops.h"

#include <algorithm>
#include <cmath>

#include "device/host/vector_ops.h"

namespace rota {

void rms_row(const float* x, const float* w, int n, float eps, float* y) {
  const float mean = vector_ops().dot(x, x, static_cast<size_t>(n)) / static_cast<float>(n);
  const float norm = 1.0f / std::sqrt(mean + eps);
  for (int i = 0; i < n; ++i) y[i] = w[i] * (x[i] * norm);
}

void rope_row(float* x, int heads, int dim, const float* freq, int pairs, int position,
              bool inverse) {
  for (int i = 0; i < pairs; ++i) {
    // fp32 angles, as the released tables hold them: near position 10^6 they are off by 0.06 rad,
    // and so are the weights' expectations.
    const float angle = static_cast<float>(position) * freq[i];
    const float cosine = std::cos(angle);
    const float sine = inverse ? -std::sin(angle) : std::sin(angle);
    float* pair = x + dim - 2 * pairs + 2 * i;
    for (int head = 0; head < heads; ++head, pair += dim) {
      const float a = pair[0], b = pair[1];
      pair[0] = a * cosine - b * sine;
      pair[1] = a * sine + b * cosine;
    }
  }
}

void compress_group(const float* const* kv, const float* const* gate, int ratio, int dim,
                    float* out) {
  if (ratio == 1) {
    std::copy_n(kv[0], dim, out);
    return;
  }
  for (int c = 0; c < dim; ++c) {
    float largest = gate[0][c];
    for (int t = 1; t < ratio; ++t) largest = std::max(largest, gate[t][c]);
    float total = 0, sum = 0;
    for (int t = 0; t < ratio; ++t) {
      const float e = std::exp(gate[t][c] - largest);
      total += e;
      sum += e * kv[t][c];
    }
    out[c] = sum / total;
  }
}

void compress_from_rings(const float* kv_ring, const float* gate_ring, int slots, int ratio,
                         int group, int dim, float* out) {
  const float *kv[kMostTokensAGroup], *gate[kMostTokensAGroup];
  for (int t = 0; t < ratio; ++t) {
    const size_t slot = static_cast<size_t>((group * ratio + t) % slots) * static_cast<size_t>(dim);
    kv[t] = kv_ring + slot;
    gate[t] = ratio > 1 ? gate_ring + slot : nullptr;
  }
  compress_group(kv, gate, ratio, dim, out);
}

void engram_gate_row(float* h, const float* kv, const float* q_weight, const float* k_weight,
                     int mult, int dim, float eps) {
  const VectorOps& ops = vector_ops();
  const size_t n = static_cast<size_t>(dim);
  const float* value = kv + static_cast<size_t>(mult) * n;
  for (size_t c = 0; c < static_cast<size_t>(mult); ++c) {
    float* copy = h + c * n;
    const float* key = kv + c * n;
    float product = 0;
    for (size_t i = 0; i < n; ++i)
      product += copy[i] * (q_weight[c * n + i] * k_weight[c * n + i]) * key[i];
    const float h_norm = 1.0f / std::sqrt(ops.dot(copy, copy, n) / static_cast<float>(dim) + eps);
    const float key_norm = 1.0f / std::sqrt(ops.dot(key, key, n) / static_cast<float>(dim) + eps);
    const float d = product * (h_norm * key_norm) / std::sqrt(static_cast<float>(dim));
    const float root = std::copysign(std::sqrt(std::max(std::fabs(d), 1e-6f)), d);
    ops.axpy(1.0f / (1.0f + std::exp(-root)), value, copy, n);
  }
}

float softplus(float x) { return x > 20.0f ? x : std::log1p(std::exp(x)); }

void route_row(const float* logits, const float* bias, const float* selection_bias, int experts,
               int top_k, float route_scale, float* scores, int* ids, float* weights) {
  for (int e = 0; e < experts; ++e) scores[e] = std::sqrt(softplus(logits[e]));
  float total = 0;
  for (int k = 0; k < top_k; ++k) {
    float best = 0;
    ids[k] = -1;
    for (int e = 0; e < experts; ++e) {
      if (std::find(ids, ids + k, e) != ids + k) continue;
      const float biased =
          scores[e] + bias[e] + (selection_bias != nullptr ? selection_bias[e] : 0.0f);
      if (ids[k] < 0 || biased > best) {
        best = biased;
        ids[k] = e;
      }
    }
    weights[k] = scores[ids[k]];
    total += weights[k];
  }
  for (int k = 0; k < top_k; ++k) weights[k] = weights[k] / (total + 1e-20f) * route_scale;
}

int largest_of_row(const float* x, int n) {
  int best = 0;
  for (int i = 1; i < n; ++i) {
    if (x[i] > x[best] || (std::isnan(x[best]) && !std::isnan(x[i]))) best = i;
  }
  return best;
}

}  // namespace rota
