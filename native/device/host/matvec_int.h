// Matrix times 1..many quantised rows, in integers, for the formats that have a layout
// (matvec_activations.h). Owns the one order of such a dot product; knows no threads.
#pragma once

#include <cstddef>

#include "device/host/matvec_activations.h"

namespace rota {

// THE INTEGER ORDER. A row is cut into chunks of 256 weights (PTQ1_0: 512). Within a chunk, codes
// times 16-bit activations are summed exactly, in 32-bit integers, into 16 lanes; lanes that share
// a weight scale d go to float together:
//   t[j] = fma(float(S[j]), d[j], t[j])   for the chunk's groups of scales, ascending, t = 0 before
//   acc[j] = fma(t[j], scale of the lane's activations, acc[j])   for the chunks, ascending
// In Q2_K t[0] = fma(sum of sub-blocks' offsets times their activations' sums, dmin / 4, t[0])
// follows. Where a chunk has one scale (the layout of steps) its lanes are first summed into lane
// 0, exactly. At the end acc[j] + acc[j + 8], then the tree of eight of matvec_kernels.h. Which
// weights are in a lane is the layout's; nothing depends on rows, splits or the variant: the
// portable, AVX2 and AVX-512 kernels give the same bits.
//
// No integer overflows: |code * activation| summed over a lane of a chunk stays below 2^28 for
// every format (the largest, Q3_K: 16 weights * 7 * 32 * 32640 + 4 * 32 * 32 * 32640), and the
// 16-bit sums of products of bytes not above 2^12 (PTQ1_0: 16 products of 2 * 128).

// y[r][o] for o in [out_begin, out_end), r in [0, rows).
//   w     row 0 of the matrix, rows of row_bytes(f, k) bytes each, any alignment
//   x[r]  a row of k values in row_layout(f), aligned to 64     y[r]  indexed by the absolute
//   output
// A weight is decoded once for all rows of a tile of 16.
void matvec_int_rows(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                     const void* const* x, int rows, float* const* y);

}  // namespace rota
