// The scales of a matrix in a block format, searched before any weight is rounded: what a format
// can hold, and no other value, is what error propagation then works with. Owns the search and the
// layout of scales; knows no Hessian but its diagonal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "formats/block.h"

namespace rota {

// A format as whoever rounds sees it: value = step * code, one step for `group` weights of a row.
struct CodeRule {
  size_t block;  // weights that share an fp16 scale
  size_t group;  // weights that share a step: the block, or a part of it with a scale of its own
  int low, high;
};
// For the formats that experts are quantised to: PTQ1_0, Q2_0, Q3_K (ROTA_CHECK otherwise).
const CodeRule& code_rule(Format format);

struct Scales {
  Format format = Format::kQ2_0;
  size_t rows = 0, columns = 0;
  std::vector<uint16_t> d;  // fp16 bits, [rows, columns / block]
  std::vector<int8_t> sub;  // [rows, columns / group] where a block has groups (Q3_K), else empty

  // Exactly the factor that decoding multiplies the code with.
  float step(size_t row, size_t group) const;
};

// The code of the nearest value; 0 where the step is 0.
int8_t nearest_code(float value, float step, const CodeRule& rule);

// For each block of w[rows, columns] the scales with the least sum of importance[column] * (w -
// nearest value)^2 among those tried: a grid, then least squares for the codes it gave, of either
// sign where the codes are lopsided.
Scales search_scales(Format format, const float* w, size_t rows, size_t columns,
                     const float* importance);

// codes[rows, columns] of w to nearest, each weight for itself.
std::vector<int8_t> nearest_codes(const float* w, const Scales& scales);
// The rows as the file holds them: decode_row() gives step * code of every weight.
std::vector<uint8_t> pack_rows(const Scales& scales, const std::vector<int8_t>& codes);

}  // namespace rota
