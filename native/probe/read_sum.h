// Reads memory as fast as one core can and folds it into one number. Knows no threads and no clock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rota {

// Sum of `words` 64-bit words, wrapping. words a multiple of 64, data aligned to 64 bytes.
using ReadSum = uint64_t (*)(const uint64_t* data, size_t words);

uint64_t read_sum_portable(const uint64_t* data, size_t words);
uint64_t read_sum_avx2(const uint64_t* data, size_t words);  // only where cpu_features().avx2

struct ReadKernel {
  const char* name;
  ReadSum sum;
};
ReadKernel best_read_kernel();

}  // namespace rota
