// Hyper-connection arithmetic of one row (V4.1 reference 2.1, 2.2). Knows no layer.
#pragma once

#include "device/device.h"

namespace rota {

// h [mult * dim]; mix = fn . h [(2 + mult) * mult]; base the same length; scale [3].
// pre, post [mult]; comb [mult, mult], input copy first, ends on a column step of the Sinkhorn
// iteration.
void hc_coefficients_row(const HcParams& params, const float* h, int dim, const float* mix,
                         const float* base, const float* scale, float* pre, float* post,
                         float* comb);
void hc_collapse_row(const float* h, const float* m, int mult, int dim, float* x);
void hc_expand_row(float* h, const float* y, const float* post, const float* comb, int mult,
                   int dim);
void hc_mean_row(const float* h, int mult, int dim, float* out);

// z [n, n] in place: softmax of each row, then alternating column and row normalisation, `iters`
// column steps in total.
void sinkhorn(float* z, int n, int iters, float eps);

inline constexpr int kMaxHcMult = 8;

}  // namespace rota
