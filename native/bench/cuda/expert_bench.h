// The GPU's expert kernels against the device's own copy. Owns the windows and their order; prints
// nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/random_blobs.h"
#include "bench/spread.h"

namespace rota {

struct ExpertBenchOptions {
  int device = 0;
  uint64_t bytes = uint64_t{1} << 30;  // of distinct experts: far more than a GPU's cache holds
  std::vector<Format> formats = {Format::kQ8_0, Format::kMXFP4, Format::kQ3_K, Format::kQ2_0,
                                 Format::kPTQ1_0};
  std::vector<int> rows = {1, 2, 4, 8, 16};
  int experts = 8;  // distinct ones of a call; every row wants all of them
  int rounds = 15;
  uint64_t seed = 1;
  BlobShape shape;
};

struct ExpertBenchLine {
  Format format = Format::kQ8_0;
  int rows = 0;
  size_t blobs = 0;
  uint64_t blob_bytes = 0;
  int calls = 0;       // of a window: a graph of layer calls that reads every blob once
  Spread bytes_per_s;  // of blobs, in whole calls: splitting rows, both products, the sum
  double call_us = 0;  // median
};

struct ExpertBenchResult {
  std::string device;
  Spread copy_bytes_per_s;  // read and written, by a copy of all the experts' memory
  std::vector<ExpertBenchLine> lines;
};

using ExpertBenchProgress = std::function<void(int done, int all, Format format, int rows)>;
// kLoad: no device, or answers that are no numbers.
Result<ExpertBenchResult> run_expert_bench(const ExpertBenchOptions& options,
                                           const ExpertBenchProgress& progress);

}  // namespace rota
