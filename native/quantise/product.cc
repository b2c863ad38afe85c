// Panels, tiles, and the portable tile.
#include "quantise/product.h"

#include <algorithm>
#include <cstring>

#include "base/cpu_features.h"

namespace rota {
namespace {

using product_internal::kPanel;
using product_internal::kTileRows;

constexpr size_t kChain = 256;  // values of k before a sum goes to c

product_internal::Tile tile_of_this_cpu() {
  return cpu_features().avx2 ? product_internal::avx2_tile : product_internal::portable_tile;
}

// b's columns first .. first + kPanel for k values of k, beside each other; zeros where b ends.
void pack_panel(const float* b, size_t b_row, size_t k, size_t columns, float* panel) {
  for (size_t i = 0; i < k; ++i) {
    std::memcpy(panel + i * kPanel, b + i * b_row, columns * sizeof(float));
    std::fill_n(panel + i * kPanel + columns, kPanel - columns, 0.0f);
  }
}

}  // namespace

void product_internal::portable_tile(size_t rows, size_t k, Strided a, const float* panel,
                                     float* out) {
  std::fill_n(out, rows * kPanel, 0.0f);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = 0; i < k; ++i) {
      const float factor = a.data[r * a.row + i * a.column];
      for (size_t c = 0; c < kPanel; ++c) out[r * kPanel + c] += factor * panel[i * kPanel + c];
    }
  }
}

void add_product(size_t m, size_t n, size_t k, Strided a, const float* b, size_t b_row, float* c,
                 size_t c_row) {
  const product_internal::Tile tile = tile_of_this_cpu();
  float panel[kChain * kPanel], out[kTileRows * kPanel];
  for (size_t from = 0; from < k; from += kChain) {
    const size_t steps = std::min(kChain, k - from);
    for (size_t column = 0; column < n; column += kPanel) {
      const size_t columns = std::min(kPanel, n - column);
      pack_panel(b + from * b_row + column, b_row, steps, columns, panel);
      for (size_t row = 0; row < m; row += kTileRows) {
        const size_t rows = std::min(kTileRows, m - row);
        tile(rows, steps, {a.data + row * a.row + from * a.column, a.row, a.column}, panel, out);
        for (size_t r = 0; r < rows; ++r) {
          float* to = c + (row + r) * c_row + column;
          for (size_t i = 0; i < columns; ++i) to[i] += out[r * kPanel + i];
        }
      }
    }
  }
}

void add_gram(const float* x, size_t rows, size_t n, float* c) {
  constexpr size_t kBand = 48;
  for (size_t first = 0; first < n; first += kBand) {
    const size_t band = std::min(kBand, n - first);
    add_product(band, n - first, rows, {x + first, 1, n}, x + first, n, c + first * n + first, n);
  }
}

}  // namespace rota
