// The two variants of the matrix kernel. Owns the choice between them; callers use matvec.h.
#pragma once

#include <cstddef>

#include "formats/block.h"

namespace rota {

// Same arguments as matvec_rows, any number of rows.
using MatvecFn = void (*)(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                          const float* const* x, int rows, float* const* y);

void matvec_portable(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                     const float* const* x, int rows, float* const* y);
// Only where the CPU has AVX2, FMA and F16C.
void matvec_avx2(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                 const float* const* x, int rows, float* const* y);

inline constexpr int kLanes = 8;
// Rows that share one decoding of a weight block.
inline constexpr int kRowTile = 8;

// The fixed tree that ends every chain.
inline float reduce_lanes(const float* l) {
  return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

}  // namespace rota
