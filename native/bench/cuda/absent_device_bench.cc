// run_device_bench of a build without CUDA.
#include "bench/cuda/device_bench.h"
#include "device/cuda/cuda_device.h"

namespace rota {

Result<DeviceBenchResult> run_device_bench(const DeviceBenchOptions& options) {
  return make_cuda_device(options.index).status();
}

}  // namespace rota
