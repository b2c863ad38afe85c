// open, fstat and mmap of a whole file.
#include "base/mmap_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/lost_pages.h"

namespace rota {

MmapFile::MmapFile(MmapFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, false)),
      path_(std::move(other.path_)),
      identity_(other.identity_) {}

MmapFile& MmapFile::operator=(MmapFile&& other) noexcept {
  if (this != &other) {
    unmap();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    mapped_ = std::exchange(other.mapped_, false);
    path_ = std::move(other.path_);
    identity_ = other.identity_;
  }
  return *this;
}

MmapFile::~MmapFile() { unmap(); }

void MmapFile::unmap() {
  if (!mapped_) return;
  forget_mapping(data_);
  munmap(const_cast<uint8_t*>(data_), size_);
}

MmapFile MmapFile::of_memory(std::string name, std::span<const uint8_t> bytes) {
  MmapFile file;
  file.data_ = bytes.data();
  file.size_ = bytes.size();
  file.path_ = std::move(name);
  return file;
}

Result<MmapFile> MmapFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  return map(fd, path, PROT_READ);
}

Result<MmapFile> MmapFile::open_for_device(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  return fd < 0 ? open(path) : map(fd, path, PROT_READ | PROT_WRITE);
}

void MmapFile::seal() {
  if (mapped_) mprotect(const_cast<uint8_t*>(data_), size_, PROT_READ);
}

Result<MmapFile> MmapFile::map(int fd, const std::string& path, int protection) {
  if (fd < 0) return Status(Code::kLoad, path + ": cannot open: " + std::strerror(errno));
  struct stat info = {};
  if (fstat(fd, &info) != 0) {
    const int error = errno;
    close(fd);
    return Status(Code::kLoad, path + ": cannot stat: " + std::strerror(error));
  }
  if (!S_ISREG(info.st_mode) || info.st_size == 0) {
    close(fd);
    return Status(Code::kLoad,
                  path + (S_ISREG(info.st_mode) ? ": the file is empty" : ": not a regular file"));
  }
  MmapFile file;
  file.size_ = static_cast<uint64_t>(info.st_size);
  file.path_ = path;
  const auto identity = FileIdentity::of(fd, path);
  if (identity.ok()) file.identity_ = identity.value();
  void* memory = mmap(nullptr, file.size_, protection, MAP_SHARED, fd, 0);
  const int error = errno;
  close(fd);
  if (memory == MAP_FAILED) {
    file.size_ = 0;
    return Status(Code::kLoad, path + ": cannot map: " + std::strerror(error));
  }
  file.data_ = static_cast<const uint8_t*>(memory);
  file.mapped_ = true;
  watch_mapping(file.data_, file.size_);
  return file;
}

}  // namespace rota
