// Owned, aligned memory, on huge pages where they are wanted and there are some. Running out is a
// Status that names the bytes; knows nothing of what is stored.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace rota {

class AlignedBuffer {
 public:
  static constexpr size_t kCacheLine = 64;
  static constexpr size_t kPage = 4096;

  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  ~AlignedBuffer();

  // alignment: a power of two >= sizeof(void*), at most 2 MiB. huge_pages: the buffer is large and
  // lives long, so it asks for huge pages unless this process wants none (memory_placement.h):
  // reserved ones first, else transparent ones, and the kernel may decline both. Contents are
  // unspecified. kOutOfMemory names the bytes asked.
  static Result<AlignedBuffer> allocate(size_t bytes, size_t alignment = kCacheLine,
                                        bool huge_pages = false);

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }
  size_t size() const { return size_; }

 private:
  void free();

  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t mapped_ = 0;  // bytes to unmap; 0: from the heap
};

}  // namespace rota
