// Products of matrices of floats: what calibration spends its time in. Owns one order of summation;
// knows no expert and no threads.
#pragma once

#include <cstddef>

namespace rota {

// c[m, n] += a b with a(i, k) = a[i * a_row + k * a_column], b[k, n] of rows `b_row` apart and c of
// rows `c_row` apart. Each element is a chain over 256 values of k at a time, ascending, added to
// c: nothing else of the shapes enters its bits. The AVX2 variant fuses multiply and add; one
// process uses one of them throughout.
struct Strided {
  const float* data;
  size_t row, column;
};
void add_product(size_t m, size_t n, size_t k, Strided a, const float* b, size_t b_row, float* c,
                 size_t c_row);

// c[n, n] += x^T x of x[rows, n], upper triangle (and what lies beside it in tiles).
void add_gram(const float* x, size_t rows, size_t n, float* c);

namespace product_internal {
inline constexpr size_t kTileRows = 6, kPanel = 16;
// out[rows, kPanel] = a panel for `rows` <= kTileRows of a, panel[k, kPanel].
using Tile = void (*)(size_t rows, size_t k, Strided a, const float* panel, float* out);
void portable_tile(size_t rows, size_t k, Strided a, const float* panel, float* out);
void avx2_tile(size_t rows, size_t k, Strided a, const float* panel, float* out);
}  // namespace product_internal

}  // namespace rota
