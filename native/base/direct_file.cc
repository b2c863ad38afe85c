// O_DIRECT reads: the sector grid, short reads and the fall back to buffered ones.
#include "base/direct_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/check.h"

namespace rota {
namespace {

// One bounce buffer a thread, so that concurrent reads need no lock.
constexpr size_t kBounceBytes = size_t{1} << 20;
thread_local AlignedBuffer bounce;

constexpr uint64_t align_down(uint64_t value) {
  return value / DirectFile::kAlignment * DirectFile::kAlignment;
}
constexpr uint64_t align_up(uint64_t value) {
  return align_down(value + DirectFile::kAlignment - 1);
}

std::string at(const std::string& path, uint64_t offset) {
  return path + ": offset " + std::to_string(offset);
}

// True when a read through fd works as O_DIRECT: some file systems accept the flag and refuse the
// read.
bool probe(int fd, std::string* reason) {
  auto buffer = AlignedBuffer::allocate(DirectFile::kAlignment, DirectFile::kAlignment);
  if (!buffer.ok()) {
    *reason = buffer.status().message();
    return false;
  }
  if (pread(fd, buffer->data(), DirectFile::kAlignment, 0) >= 0) return true;
  *reason = std::strerror(errno);
  return false;
}

}  // namespace

DirectFile::DirectFile(DirectFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      path_(std::move(other.path_)),
      why_buffered_(std::move(other.why_buffered_)) {}

DirectFile& DirectFile::operator=(DirectFile&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = std::exchange(other.fd_, -1);
    size_ = other.size_;
    path_ = std::move(other.path_);
    why_buffered_ = std::move(other.why_buffered_);
  }
  return *this;
}

DirectFile::~DirectFile() {
  if (fd_ >= 0) close(fd_);
}

Result<DirectFile> DirectFile::open(const std::string& path) {
  DirectFile file;
  file.path_ = path;
  file.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  std::string reason;
  if (file.fd_ < 0 || !probe(file.fd_, &reason)) {
    if (file.fd_ < 0) reason = std::strerror(errno);
    if (file.fd_ >= 0) close(file.fd_);
    file.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file.fd_ < 0) return Status(Code::kIo, path + ": cannot open: " + std::strerror(errno));
    file.why_buffered_ = "O_DIRECT refused: " + reason;
  }
  struct stat info = {};
  if (fstat(file.fd_, &info) != 0) {
    return Status(Code::kIo, path + ": cannot stat: " + std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) return Status(Code::kIo, path + ": not a regular file");
  file.size_ = static_cast<uint64_t>(info.st_size);
  return file;
}

Status DirectFile::check_span(uint64_t offset, size_t bytes) const {
  if (offset <= size_ && bytes <= size_ - offset) return Status();
  return Status(Code::kIo, at(path_, offset) + ": cannot read " + std::to_string(bytes) +
                               " bytes, the file has " + std::to_string(size_));
}

Result<size_t> DirectFile::read_aligned(uint64_t offset, size_t bytes, uint8_t* out) const {
  size_t reached = 0;  // bytes of the range that are in `out`
  while (reached < bytes) {
    // A short read may end off the sector grid; the next transfer must start on it, so it repeats a
    // few bytes.
    const size_t from = align_down(offset + reached) - offset;
    const ssize_t got = pread(fd_, out + from, bytes - from, static_cast<off_t>(offset + from));
    if (got < 0) {
      if (errno == EINTR) continue;
      return Status(Code::kIo, at(path_, offset + from) + ": read failed: " + std::strerror(errno));
    }
    const size_t end = from + static_cast<size_t>(got);
    if (end <= reached) break;  // no further: the end of the file
    reached = end;
  }
  return reached;
}

Status DirectFile::prepare_thread() {
  if (bounce.size() > 0) return Status();
  ROTA_ASSIGN_OR_RETURN(bounce, AlignedBuffer::allocate(kBounceBytes, kAlignment));
  return Status();
}

Status DirectFile::read(uint64_t offset, size_t bytes, void* out) const {
  ROTA_RETURN_IF_ERROR(check_span(offset, bytes));
  ROTA_RETURN_IF_ERROR(prepare_thread());
  auto* target = static_cast<uint8_t*>(out);
  const uint64_t end = offset + bytes;
  for (uint64_t position = offset; position < end;) {
    const uint64_t begin = align_down(position);
    const size_t want = std::min<uint64_t>(kBounceBytes, align_up(end) - begin);
    ROTA_ASSIGN_OR_RETURN(const size_t got, read_aligned(begin, want, bounce.data()));
    const uint64_t last = std::min(end, begin + got);
    if (last <= position) {
      return Status(Code::kIo, at(path_, position) + ": the file ended early");
    }
    std::memcpy(target, bounce.data() + (position - begin), last - position);
    target += last - position;
    position = last;
  }
  return Status();
}

Result<uint8_t*> DirectFile::read_in_place(uint64_t offset, size_t bytes, uint8_t* buffer) const {
  ROTA_CHECK(reinterpret_cast<uintptr_t>(buffer) % kAlignment == 0, "buffer", buffer);
  ROTA_RETURN_IF_ERROR(check_span(offset, bytes));
  const uint64_t begin = align_down(offset);
  const size_t head = offset - begin;
  ROTA_ASSIGN_OR_RETURN(const size_t got,
                        read_aligned(begin, align_up(offset + bytes) - begin, buffer));
  if (got < head + bytes) {
    return Status(Code::kIo, at(path_, begin + got) + ": the file ended early");
  }
  return buffer + head;
}

}  // namespace rota
