// The table and the JSON object of rota-bench kernels --device. Measures nothing.
#pragma once

#include "bench/cuda/device_bench.h"

namespace rota {

void print_device_kernels(const DeviceBenchResult& result, bool json);

}  // namespace rota
