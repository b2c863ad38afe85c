// The scalar reference of the vector operations, and the choice of the process's variant.
#include "device/host/vector_ops.h"

#include "base/cpu_features.h"

namespace rota {
namespace {

float dot(const float* x, const float* y, size_t n) {
  float lanes[kDotLanes] = {};
  const size_t whole = n / kDotLanes * kDotLanes;
  for (size_t i = 0; i < whole; i += kDotLanes) {
    for (size_t l = 0; l < kDotLanes; ++l) lanes[l] += x[i + l] * y[i + l];
  }
  for (size_t i = whole; i < n; ++i) lanes[i - whole] += x[i] * y[i];
  return reduce_dot_lanes(lanes);
}

void axpy(float a, const float* x, float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

}  // namespace

const VectorOps kPortableVectorOps = {dot, axpy};

const VectorOps& vector_ops() { return cpu_features().avx2 ? kAvx2VectorOps : kPortableVectorOps; }

}  // namespace rota
