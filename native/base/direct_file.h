// Positioned reads that bypass the page cache where the file system lets them. Owns a descriptor;
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace rota {

class DirectFile {
 public:
  // Offsets, lengths and addresses of an O_DIRECT transfer are multiples of this (covers 512 and
  // 4096-byte sectors).
  static constexpr size_t kAlignment = 4096;

  DirectFile() = default;
  DirectFile(DirectFile&& other) noexcept;
  DirectFile& operator=(DirectFile&& other) noexcept;
  ~DirectFile();

  static Result<DirectFile> open(const std::string& path);

  // false: the file system refused O_DIRECT, reads go through the page cache; why_buffered() has
  // its words.
  bool direct() const { return why_buffered_.empty(); }
  const std::string& why_buffered() const { return why_buffered_; }
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

  // Takes the calling thread's bounce buffer, where it has none yet: a thread that did so allocates
  // nothing in read(). kOutOfMemory.
  static Status prepare_thread();
  // Copies bytes [offset, offset + bytes) to out, through an aligned bounce buffer of the calling
  // thread. kIo names file, offset and reason; reading past the end is kIo.
  Status read(uint64_t offset, size_t bytes, void* out) const;

  // Bytes that a buffer for read_in_place() must have for any span of `bytes`.
  static constexpr size_t in_place_capacity(size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment;
  }
  // Without the copy: `buffer` is kAlignment-aligned and has in_place_capacity(bytes); the result
  // points into it.
  Result<uint8_t*> read_in_place(uint64_t offset, size_t bytes, uint8_t* buffer) const;

 private:
  Status check_span(uint64_t offset, size_t bytes) const;
  // Reads the aligned range; may stop early only at the end of the file. Returns bytes read.
  Result<size_t> read_aligned(uint64_t offset, size_t bytes, uint8_t* out) const;

  int fd_ = -1;
  uint64_t size_ = 0;
  std::string path_;
  std::string why_buffered_;
};

}  // namespace rota
