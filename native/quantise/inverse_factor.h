// The triangular factor that GPTQ walks along: of the inverse of a damped Hessian. Owns the
// damping; knows no weights.
#pragma once

#include <cstddef>
#include <vector>

namespace rota {

// H = X^T X of n columns: `sum` has its upper triangle in [n, n]. Two numbers are all that is asked
// of it: what a column's error costs, and how the columns behind it may make it good.
struct InverseFactor {
  size_t n = 0;
  std::vector<float> importance;  // [n] diagonal of H; ones where H is zero throughout
  // [n, n]: row j holds u_jk / u_jj for k > j, where U is upper triangular and U^T U = (H + damping
  // I)^-1. A column's error e is made good by w_k -= e * u_jk / u_jj.
  std::vector<float> carry;
};

// Share of the mean of the diagonal that is added to it: keeps the inverse of few or alike rows
// tame (the usual value, Frantar et al. 2022).
inline constexpr double kDamping = 0.01;

InverseFactor inverse_factor(const float* sum, size_t n);

}  // namespace rota
