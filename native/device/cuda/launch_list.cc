// Launches compared, changed and put on a stream.
#include "device/cuda/launch_list.cuh"

#include "base/check.h"

namespace rota {

void LaunchList::clear() {
  launches_.clear();
  offsets_.clear();
  bytes_.clear();
}

void** LaunchList::parameters(size_t i) {
  const Launch& of = launches_[i];
  addresses_.clear();
  for (size_t p = 0; p < of.parameters; ++p) {
    addresses_.push_back(bytes_.data() + of.first_byte + offsets_[of.first_parameter + p]);
  }
  return addresses_.data();
}

bool LaunchList::same_kernel(size_t i, const LaunchList& other) const {
  return launches_[i].kernel == other.launches_[i].kernel;
}

bool LaunchList::same_launch(size_t i, const LaunchList& other) const {
  const Launch &a = launches_[i], &b = other.launches_[i];
  return same_kernel(i, other) && a.blocks.x == b.blocks.x && a.blocks.y == b.blocks.y &&
         a.blocks.z == b.blocks.z && a.threads == b.threads && a.shared == b.shared &&
         a.bytes == b.bytes &&
         std::memcmp(bytes_.data() + a.first_byte, other.bytes_.data() + b.first_byte, a.bytes) ==
             0;
}

void LaunchList::take(size_t i, const LaunchList& other) {
  Launch& mine = launches_[i];
  const Launch& theirs = other.launches_[i];
  ROTA_CHECK(same_kernel(i, other) && mine.bytes == theirs.bytes, "launch", i);
  mine.blocks = theirs.blocks;
  mine.threads = theirs.threads;
  mine.shared = theirs.shared;
  std::memcpy(bytes_.data() + mine.first_byte, other.bytes_.data() + theirs.first_byte, mine.bytes);
}

cudaError_t LaunchList::launch(size_t i, cudaStream_t stream) {
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  const Launch& of = launches_[i];
  cudaLaunchConfig_t config = {};
  config.gridDim = of.blocks;
  config.blockDim = dim3(of.threads);
  config.dynamicSmemBytes = of.shared;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = launches_early() ? 1 : 0;
  return cudaLaunchKernelExC(&config, of.kernel, parameters(i));
}

cudaError_t LaunchList::launch_each(cudaStream_t stream) {
  cudaError_t first = cudaSuccess;
  for (size_t i = 0; i < size() && first == cudaSuccess; ++i) first = launch(i, stream);
  return first;
}

}  // namespace rota
