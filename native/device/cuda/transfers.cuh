// What crosses between host and GPU. Owns the pinned memory through which small pieces travel: the
// caller's memory is free again at once, and nothing waits for an upload.
#pragma once

#include <memory>

#include "device/cuda/cuda_stream.cuh"

namespace rota {

class Transfers {
 public:
  // kOutOfMemory when the pinned memory is refused.
  static Result<std::unique_ptr<Transfers>> open(CudaStream& stream);
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  void upload(void* device, const void* host, size_t bytes);
  // Waits for everything asked before.
  void download(void* host, const void* device, size_t bytes);

 private:
  explicit Transfers(CudaStream& stream) : stream_(stream) {}
  bool wait();

  CudaStream& stream_;
  uint8_t* up_ = nullptr;    // [kStagedBytes]
  uint8_t* down_ = nullptr;  // [kStagedBytes]
  size_t used_ = 0;          // of up_, since the stream was last waited for
};

}  // namespace rota
