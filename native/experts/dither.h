// A fraction of something whole, call after call: what a call rounds off is carried to the next, so
// that the sum of many calls is the fraction's. Owns the carry; the same calls give the same
// answers.
#pragma once

#include <algorithm>

namespace rota {

class Dither {
 public:
  // The whole part of `want` and what was carried.
  int take(double want) {
    const double sum = want + carry_;
    const int whole = static_cast<int>(sum + 1e-9);  // ten times 0.1 is one
    carry_ = std::max(sum - whole, 0.0);
    return whole;
  }

 private:
  double carry_ = 0;
};

}  // namespace rota
