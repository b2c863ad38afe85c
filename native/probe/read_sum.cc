// The portable kernel, and the choice between the two.
#include "probe/read_sum.h"

#include "base/cpu_features.h"

namespace rota {

uint64_t read_sum_portable(const uint64_t* data, size_t words) {
  // Independent sums, so that loads never wait for an addition.
  uint64_t sums[8] = {};
  for (size_t i = 0; i < words; i += 8) {
    for (size_t lane = 0; lane < 8; ++lane) sums[lane] += data[i + lane];
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums) total += sum;
  return total;
}

ReadKernel best_read_kernel() {
  if (cpu_features().avx2) return {"avx2", read_sum_avx2};
  return {"portable", read_sum_portable};
}

}  // namespace rota
