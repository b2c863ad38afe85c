// What a GPU's memory and the way to it can do. The door of this folder: needs no CUDA header, and
// is there in builds without CUDA, whose answer is that there is no GPU.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace rota {

struct DeviceProbe {
  std::string device;                // "cuda:0 NVIDIA H200"
  double copy_bytes_per_s = 0;       // within its memory, read and written
  double from_host_bytes_per_s = 0;  // out of page-locked memory
  uint64_t buffer_bytes = 0;         // of its memory
};

// The best of some rounds; the first one only brings an idle GPU to its clocks.
Result<DeviceProbe> probe_device(int index);

}  // namespace rota
