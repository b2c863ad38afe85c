// A file in memory whose contents a fuzz target sets before each input, for readers that open a
// path. Owns the descriptor and a mapping to write through; no disk and no write() per input.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/check.h"

namespace rota {

class MemoryFile {
 public:
  // The file never has more than `capacity` bytes.
  explicit MemoryFile(size_t capacity) : fd_(memfd_create("fuzz", 0)), capacity_(capacity) {
    ROTA_CHECK(fd_ >= 0 && ftruncate(fd_, static_cast<off_t>(capacity)) == 0);
    void* memory = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    ROTA_CHECK(memory != MAP_FAILED);
    bytes_ = static_cast<uint8_t*>(memory);
    path_ = "/proc/self/fd/" + std::to_string(fd_);
  }
  ~MemoryFile() {
    munmap(bytes_, capacity_);
    close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::string& path() const { return path_; }

  // `data`, then zeros up to `size` bytes.
  void set(const uint8_t* data, size_t count, size_t size) {
    count = std::min(count, capacity_);
    size = std::clamp(size, count, capacity_);
    std::memset(bytes_ + count, 0, last_ > count ? last_ - count : 0);
    last_ = count;
    ROTA_CHECK(ftruncate(fd_, static_cast<off_t>(size)) == 0);
    if (count > 0) std::memcpy(bytes_, data, count);
  }

 private:
  int fd_;
  size_t capacity_, last_ = 0;  // last_: bytes that may not be zero
  uint8_t* bytes_ = nullptr;
  std::string path_;
};

}  // namespace rota
