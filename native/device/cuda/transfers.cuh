// What crosses between host and GPU. Owns the pinned memory through which small pieces travel: the
// caller's memory is free again at once, and nothing waits for an upload.
#pragma once

#include <memory>
#include <vector>

#include "device/cuda/landing.cuh"

namespace rota {

class Transfers {
 public:
  // kOutOfMemory when the pinned memory is refused.
  static Result<std::unique_ptr<Transfers>> open(CudaStream& stream);
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  void upload(void* device, const void* host, size_t bytes);
  // What was asked before is in host[bytes] after finish_downloads(), or zeros after a failure. A
  // piece that is larger than the pinned memory is waited for here.
  void begin_download(void* host, const void* device, size_t bytes);
  void finish_downloads();

 private:
  struct Piece {
    void* host;
    size_t offset, bytes;  // in down_
  };

  explicit Transfers(CudaStream& stream) : stream_(stream) {}
  bool wait();

  CudaStream& stream_;
  uint8_t* up_ = nullptr;          // [kStagedBytes]
  std::unique_ptr<Landing> down_;  // [kStagedBytes]
  size_t used_ = 0;                // of up_, since the stream was last waited for
  std::vector<Piece> coming_;
  size_t down_used_ = 0;  // by coming_
  size_t used_then_ = 0;  // used_ at the last of coming_
};

}  // namespace rota
