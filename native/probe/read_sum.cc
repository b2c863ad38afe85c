// The portable kernel, and which kernels this CPU can run.
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

std::vector<ReadKernel> read_kernels() {
  std::vector<ReadKernel> kernels = {{"portable", read_sum_portable}};
  if (cpu_features().avx2) {
    kernels.push_back({"avx2", read_sum_avx2});
    kernels.push_back({"avx2 ahead", read_sum_ahead_avx2});
  }
  if (cpu_features().avx512) kernels.push_back({"avx512 ahead", read_sum_ahead_avx512});
  return kernels;
}

}  // namespace rota
