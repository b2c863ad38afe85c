// The dense linears of a GPU: bytes of weights a second beside those that a copy of its memory
// reads and writes. Owns what is timed; prints nothing. There in builds without CUDA too, where it
// says why not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/block.h"

namespace rota {

struct DeviceBenchOptions {
  int index = 0;  // of the GPU
  std::vector<Format> formats = {Format::kQ8_0, Format::kMXFP8, Format::kBF16, Format::kF16,
                                 Format::kF32};
  std::vector<int> rows = {1, 2, 4, 6, 8, 16};
  uint64_t rotated_bytes = 512ull << 20;  // of matrices in turn, so that no cache holds one
  int rounds = 9;                         // over all of them; medians count
};

struct DeviceCell {
  Format format = Format::kQ8_0;
  int out = 0, in = 0, rows = 0;
  double seconds = 0;      // of one product, in a graph of products over matrices in turn
  double bytes_per_s = 0;  // of weights
};

struct DeviceBenchResult {
  std::string device;           // "cuda:0 NVIDIA H200"
  double copy_bytes_per_s = 0;  // read and written, median
  std::vector<DeviceCell> cells;
};

// kLoad "no CUDA device: ..."; kOutOfMemory; kIo for what the GPU refuses.
Result<DeviceBenchResult> run_device_bench(const DeviceBenchOptions& options);

}  // namespace rota
