// One core's matrix kernels, by variant, format and rows: weights a cycle and bytes a second with
// the weights in L2 and from memory. Owns what is timed; prints nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/block.h"

namespace rota {

struct KernelBenchOptions {
  std::vector<Format> formats = {Format::kQ8_0, Format::kQ3_K, Format::kQ2_0, Format::kPTQ1_0};
  std::vector<int> rows = {1, 2, 4, 6, 16};
  std::vector<std::string> variants;  // empty: the one that this process would use
  size_t k = 5120;                    // weights a row
  uint64_t near_bytes = 256u << 10;   // of a matrix that stays in L2
  uint64_t far_bytes = 256ull << 20;  // of one that does not stay in any cache
  double seconds = 0.3;               // a cell: passes are repeated, the shortest counts
};

struct KernelCell {
  std::string variant;
  Format format = Format::kQ8_0;
  int rows = 0;
  double near_weights_per_cycle = 0, near_bytes_per_s = 0, far_bytes_per_s = 0;
};

struct KernelResult {
  double hertz = 0;             // of this core, by a chain of dependent multiplications
  double read_bytes_per_s = 0;  // one core reading the far memory, and nothing else
  std::vector<KernelCell> cells;
};

// kUsage: a variant that is unknown or that this CPU lacks, a format without an integer kernel.
Result<KernelResult> run_kernel_bench(const KernelBenchOptions& options);

}  // namespace rota
