// A whole file mapped read-only. Owns the mapping; knows nothing of the contents. Bytes that are
// cut off the file while it is mapped read as zeros (lost_pages.h): who believes them asks
// unchanged() afterwards.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/file_identity.h"
#include "base/status.h"

namespace rota {

class MmapFile {
 public:
  MmapFile() = default;
  MmapFile(MmapFile&& other) noexcept;
  MmapFile& operator=(MmapFile&& other) noexcept;
  ~MmapFile();

  // kLoad with the path and the system's reason: missing, a directory, unreadable, empty.
  static Result<MmapFile> open(const std::string& path);
  // The same, but the mapping may be written where the file may, because a device's driver pins
  // nothing else; until seal() takes that away again, for good.
  static Result<MmapFile> open_for_device(const std::string& path);
  void seal();
  // Bytes that are in memory already, under a name for errors. The caller keeps them there as long
  // as this and what was made of it; identity() is of no file.
  static MmapFile of_memory(std::string name, std::span<const uint8_t> bytes);

  const uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

  // As it was when it was opened, for check_unchanged().
  const FileIdentity& identity() const { return identity_; }

 private:
  static Result<MmapFile> map(int fd, const std::string& path, int protection);
  void unmap();

  const uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
  bool mapped_ = false;  // by this, which has to unmap it
  std::string path_;
  FileIdentity identity_;
};

}  // namespace rota
