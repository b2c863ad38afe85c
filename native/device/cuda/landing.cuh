// Pinned memory of the host that a kernel writes, and a count that says so: what the host waits for
// is the kernel alone, and nothing that was asked behind it. Owns that memory.
#pragma once

#include <memory>

#include "device/cuda/cuda_stream.cuh"

namespace rota {

class Landing {
 public:
  // kOutOfMemory: what, and the bytes.
  static Result<std::unique_ptr<Landing>> open(CudaStream& stream, size_t bytes, const char* what);
  ~Landing();
  Landing(const Landing&) = delete;
  Landing& operator=(const Landing&) = delete;

  const uint8_t* memory() const { return memory_; }
  // memory()[offset .. offset + bytes) = the device's, after the next wait(). All that is sent
  // before a wait has a place of its own.
  void send(const void* device, size_t offset, size_t bytes);
  // For all that was sent. False: it did not come, and the stream knows why.
  bool wait();

 private:
  explicit Landing(CudaStream& stream) : stream_(stream) {}
  uint32_t* count() const { return static_cast<uint32_t*>(static_cast<void*>(memory_ + bytes_)); }

  CudaStream& stream_;
  uint8_t* memory_ = nullptr;     // [bytes_], then the count of what has landed
  uint8_t* as_device_ = nullptr;  // the same for the GPU
  size_t bytes_ = 0;
  uint32_t* tickets_ = nullptr;  // on the device: blocks of the kernel that are done, what landed
  uint32_t sent_ = 0;
};

}  // namespace rota
