// Reads memory as fast as one core can and folds it into one number. Knows no threads and no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rota {

// Sum of `words` 64-bit words, wrapping. words a multiple of 64, data aligned to 64 bytes.
using ReadSum = uint64_t (*)(const uint64_t* data, size_t words);

uint64_t read_sum_portable(const uint64_t* data, size_t words);
// Only where cpu_features().avx2; the second asks for lines ahead of its loads.
uint64_t read_sum_avx2(const uint64_t* data, size_t words);
uint64_t read_sum_ahead_avx2(const uint64_t* data, size_t words);
// Only where cpu_features().avx512.
uint64_t read_sum_ahead_avx512(const uint64_t* data, size_t words);

struct ReadKernel {
  const char* name;
  ReadSum sum;
};

// What this CPU can run. Which is fastest depends on the CPU and its memory: fastest_read_kernel()
// of read_choice.h tries them.
std::vector<ReadKernel> read_kernels();

// Bytes ahead of a load that a kernel asks for. Beyond the end it asks for what nobody reads, which
// costs nothing and faults never.
inline constexpr size_t kReadAhead = 2048;

}  // namespace rota
