// Moves probability from the head of a distribution to its tail.
#include "decode/near_target.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/check.h"

namespace rota {

void near_target(std::span<const float> p, double accept, std::span<float> q) {
  ROTA_CHECK(p.size() >= 2 && q.size() == p.size() && accept >= 0 && accept <= 1, p.size(), accept);
  std::copy(p.begin(), p.end(), q.begin());
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [p](size_t a, size_t b) { return p[a] > p[b]; });
  const size_t least = order.back();
  order.pop_back();
  double left = 1 - accept, moved = 0;
  for (const size_t token : order) {
    if (left <= 0) break;
    const double taken = std::min(left, static_cast<double>(p[token]));
    q[token] = static_cast<float>(static_cast<double>(p[token]) - taken);
    left -= taken;
    moved += taken;
  }
  q[least] = static_cast<float>(static_cast<double>(p[least]) + moved);
}

}  // namespace rota
