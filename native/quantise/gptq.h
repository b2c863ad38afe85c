// GPTQ (Frantar et al. 2022) over a matrix whose scales are fixed: each column is rounded, and what
// that costs is made good, as far as the inputs allow, by the columns behind it. Owns the order;
// knows no format beyond its rule of codes.
#pragma once

#include <cstdint>
#include <vector>

#include "quantise/inverse_factor.h"
#include "quantise/scales.h"

namespace rota {

// codes[rows, columns] of w[rows, columns], for inputs whose Hessian gave `factor` (n = columns).
std::vector<int8_t> gptq(const float* w, const Scales& scales, const InverseFactor& factor);

}  // namespace rota
