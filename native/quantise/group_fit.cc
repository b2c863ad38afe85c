// The portable variant, and the choice of the process's.
#include "quantise/group_fit.h"

#include "base/cpu_features.h"

namespace rota {
namespace {

constexpr size_t kLanes = 8;

float tree(const float* l) {
  return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

}  // namespace

GroupFit group_fit_internal::portable(const WeightGroup& g, float step) {
  const float inverse = step == 0 ? 0 : 1 / step;
  float error[kLanes] = {}, wq[kLanes] = {}, qq[kLanes] = {};
  for (size_t i = 0; i < g.n; i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) {
      const float w = g.w[i + l], h = g.importance[i + l];
      const float q = nearest_whole(w * inverse, g.low, g.high), off = w - step * q;
      const float hq = h * q;
      error[l] += (h * off) * off;
      wq[l] += hq * w;
      qq[l] += hq * q;
    }
  }
  return {tree(error), tree(wq), tree(qq)};
}

GroupFit group_fit(const WeightGroup& group, float step) {
  return cpu_features().avx2 ? group_fit_internal::avx2(group, step)
                             : group_fit_internal::portable(group, step);
}

}  // namespace rota
