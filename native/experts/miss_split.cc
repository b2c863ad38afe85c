// The balance between copying and computing.
#include "experts/miss_split.h"

#include <algorithm>

namespace rota {

int balanced_copies(int misses, const MissCosts& costs) {
  if (!costs.known()) return 0;
  const auto later = [&](int m) {
    return std::max(m * costs.copy_ns, (misses - m) * costs.cpu_ns);
  };
  int best = 0;
  for (int m = 1; m <= misses; ++m) {
    if (later(m) < later(best)) best = m;
  }
  return best;
}

double balanced_share(const MissCosts& costs) {
  return costs.known() ? costs.cpu_ns / (costs.copy_ns + costs.cpu_ns) : 0;
}

}  // namespace rota
