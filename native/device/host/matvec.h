// Matrix times 1..many rows of float activations, for every block format. Owns the one summation
// order of a dot product; knows no threads (callers split the output rows) and no tensor names.
#pragma once

#include <cstddef>

#include "formats/block.h"

namespace rota {

// THE ORDER. Output o of row r is one chain of 8 lanes: weight i is decoded exactly and lane i % 8
// takes lane += w_i * x_i for i ascending; then ((l0+l4)+(l2+l6)) + ((l1+l5)+(l3+l7)). Nothing in
// it depends on the number of rows, on the split of outputs or on who calls: a row's bits are the
// row's alone. The AVX2 variant fuses multiply and add, the portable one does not; one process uses
// one of them throughout.

// y[r][o] = sum_i w[o][i] * x[r][i] for o in [out_begin, out_end), r in [0, rows).
//   w     row 0 of the matrix, rows of row_bytes(f, k) bytes each, any alignment
//   x[r]  k floats, any alignment       y[r]  indexed by the absolute output o
// A weight block is decoded once for up to 8 rows, and stays in L1 for the rest.
void matvec_rows(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                 const float* const* x, int rows, float* const* y);

// The same for evenly spaced rows: row r at x + r * x_stride and y + r * y_stride (strides in
// floats).
void matvec_rows(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                 const float* x, size_t x_stride, int rows, float* y, size_t y_stride);

// An expert's middle, element by element (V4.1 reference 2.10), out may be gate or up:
//   out_i = weight * silu(min(gate_i, limit)) * clamp(up_i, -limit, limit)
void expert_swiglu(const float* gate, const float* up, size_t n, float limit, float weight,
                   float* out);

}  // namespace rota
