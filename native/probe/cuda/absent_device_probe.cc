// probe_device of a build without CUDA.
#include "device/cuda/cuda_device.h"
#include "probe/cuda/device_probe.h"

namespace rota {

Result<DeviceProbe> probe_device(int index) { return make_cuda_device(index).status(); }

}  // namespace rota
