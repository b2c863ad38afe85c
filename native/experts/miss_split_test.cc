// The balance of a call's misses, and fractions carried over calls.
#include "experts/miss_split.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "experts/dither.h"

namespace rota {
namespace {

TEST_CASE("balanced copies make the later side as early as it can be, and move few bytes for it") {
  CHECK(balanced_copies(4, {1, 1}) == 2);
  CHECK(balanced_copies(3, {1, 1}) == 1);  // 1 and 2 are as good
  CHECK(balanced_copies(6, {2, 1}) == 2);
  CHECK(balanced_copies(6, {1, 2}) == 4);
  CHECK(balanced_copies(1, {3, 2}) == 0);
  CHECK(balanced_copies(1, {2, 3}) == 1);
  CHECK(balanced_copies(0, {1, 1}) == 0);
  CHECK(balanced_copies(5, {}) == 0);
  for (const double copy : {0.3, 1.0, 1.7, 40.0}) {
    for (int n = 0; n <= 24; ++n) {
      const int m = balanced_copies(n, {copy, 1});
      const auto later = [&](int k) { return std::max(k * copy, (n - k) * 1.0); };
      for (int other = 0; other <= n; ++other) CHECK(later(m) <= later(other));
      CHECK(std::abs(m - n * balanced_share({copy, 1})) <= 1);
    }
  }
  CHECK(balanced_share({1, 3}) == 0.75);
  CHECK(balanced_share({}) == 0);
}

TEST_CASE("a fraction is carried, so that many calls give what was asked") {
  Dither tenth, much;
  int taken = 0, more = 0;
  for (int i = 0; i < 1000; ++i) {
    const int now = tenth.take(0.1);
    CHECK((now == 0 || now == 1));
    taken += now;
    more += much.take(2.7);
  }
  CHECK(taken == 100);
  CHECK(more == 2700);
  Dither none;
  for (int i = 0; i < 100; ++i) CHECK(none.take(0) == 0);
}

}  // namespace
}  // namespace rota
