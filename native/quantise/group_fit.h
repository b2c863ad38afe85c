// How well a step fits a group of weights: the inner loop of the search for scales. Owns one order
// of summation, the same bits in both variants; knows no format.
#pragma once

#include <cstddef>

namespace rota {

struct WeightGroup {
  const float* w;
  const float* importance;
  size_t n;         // a multiple of 8
  float low, high;  // codes
};

// With q = w / step rounded to the nearest code: sums of importance * (w - step q)^2, importance *
// w q, importance * q^2. Weight i goes to lane i % 8; lanes end in ((l0+l4)+(l2+l6)) +
// ((l1+l5)+(l3+l7)).
struct GroupFit {
  float error, wq, qq;
};
GroupFit group_fit(const WeightGroup& group, float step);

namespace group_fit_internal {
GroupFit portable(const WeightGroup& group, float step);
GroupFit avx2(const WeightGroup& group, float step);
}  // namespace group_fit_internal

// |x| < 2^22 to the nearest whole number, ties to even, by the float format itself.
inline float rounded_to_whole(float x) {
  constexpr float kMagic = 12582912.f;  // 1.5 * 2^23
  return (x + kMagic) - kMagic;
}
// x rounded to a whole number within [low, high].
inline float nearest_whole(float x, float low, float high) {
  const float above = x < low ? low : x;
  return rounded_to_whole(above < high ? above : high);
}

}  // namespace rota
