// Chooses the kernel variant once for the process and turns strides into row pointers.
#include "device/host/matvec.h"

#include <algorithm>
#include <cmath>

#include "base/cpu_features.h"
#include "device/host/matvec_kernels.h"

namespace rota {
namespace {

MatvecFn best_variant() {
  static const MatvecFn variant = cpu_features().avx2 ? matvec_avx2 : matvec_portable;
  return variant;
}

}  // namespace

void matvec_rows(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                 const float* const* x, int rows, float* const* y) {
  best_variant()(f, w, out_begin, out_end, k, x, rows, y);
}

void matvec_rows(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                 const float* x, size_t x_stride, int rows, float* y, size_t y_stride) {
  constexpr int kRowsAtOnce = 64;
  const float* in[kRowsAtOnce];
  float* out[kRowsAtOnce];
  for (int first = 0; first < rows; first += kRowsAtOnce) {
    const int count = std::min(kRowsAtOnce, rows - first);
    for (int r = 0; r < count; ++r) {
      in[r] = x + static_cast<size_t>(first + r) * x_stride;
      out[r] = y + static_cast<size_t>(first + r) * y_stride;
    }
    matvec_rows(f, w, out_begin, out_end, k, in, count, out);
  }
}

void expert_swiglu(const float* gate, const float* up, size_t n, float limit, float weight,
                   float* out) {
  for (size_t i = 0; i < n; ++i) {
    const float a = std::min(gate[i], limit);
    const float b = std::clamp(up[i], -limit, limit);
    out[i] = weight * (a / (1.0f + std::exp(-a)) * b);
  }
}

}  // namespace rota
