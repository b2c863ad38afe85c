// Owned, aligned memory. Running out is a Status that names the bytes; knows nothing of what is
// stored.
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

  // alignment: a power of two >= sizeof(void*). huge_pages asks the kernel for transparent huge
  // pages; it may decline. Contents are unspecified. kOutOfMemory names the bytes asked.
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
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace rota
