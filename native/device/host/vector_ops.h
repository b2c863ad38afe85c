// Dot product and scaled addition of float vectors, in two variants. Owns their fixed order; knows
// no operation that uses them.
#pragma once

#include <cstddef>

namespace rota {

// dot: element i goes to lane i % 32 (four chains of eight), lanes end in a fixed tree. axpy: y +=
// a * x, element by element.
struct VectorOps {
  float (*dot)(const float* x, const float* y, size_t n);
  void (*axpy)(float a, const float* x, float* y, size_t n);
};

extern const VectorOps kPortableVectorOps;
extern const VectorOps kAvx2VectorOps;  // only where the CPU has AVX2 and FMA

// The process's variant.
const VectorOps& vector_ops();

inline constexpr size_t kDotLanes = 32;

// Halves the lanes until one is left.
inline float reduce_dot_lanes(float* lanes) {
  for (size_t half = kDotLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

}  // namespace rota
