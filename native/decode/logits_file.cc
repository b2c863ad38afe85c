// open, pwrite, and the head last: a file without its head is nobody's.
#include "decode/logits_file.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace rota {
namespace {

constexpr size_t kHeadBytes = 64;
static_assert(std::endian::native == std::endian::little, "floats are written as they lie");

Status trouble(const std::string& path, const std::string& why) {
  return Status(Code::kIo, "logits_out " + path + ": " + why);
}

}  // namespace

LogitsFile::LogitsFile(std::string path, int fd, int vocab, int first_row, int rows)
    : path_(std::move(path)), fd_(fd), vocab_(vocab), first_row_(first_row), rows_(rows) {}

LogitsFile::~LogitsFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!finished_) ::unlink(path_.c_str());
}

Result<std::unique_ptr<LogitsFile>> LogitsFile::create(const std::string& path, int vocab,
                                                       int first_row, int rows) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return trouble(path, std::string("cannot be made: ") + std::strerror(errno));
  std::unique_ptr<LogitsFile> file(new LogitsFile(path, fd, vocab, first_row, rows));
  const uint64_t needed =
      kHeadBytes + static_cast<uint64_t>(vocab) * sizeof(float) * static_cast<uint64_t>(rows);
  struct statvfs disk = {};
  if (fstatvfs(fd, &disk) == 0) {
    const uint64_t free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
    if (free_bytes < needed) {
      return trouble(path, std::to_string(rows) + " rows of " + std::to_string(vocab) +
                               " logits need " + std::to_string(needed) + " bytes, the disk has " +
                               std::to_string(free_bytes) + " free");
    }
  }
  return file;
}

Status LogitsFile::write(const void* data, size_t bytes, int64_t at) const {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::pwrite(fd_, from, bytes, at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return trouble(path_, std::string("cannot write: ") + std::strerror(errno));
    from += n;
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return Status();
}

Status LogitsFile::add(std::span<const float> logits) {
  ROTA_CHECK(logits.size() == static_cast<size_t>(vocab_) && written_ < rows_, "row", written_);
  const size_t bytes = logits.size_bytes();
  const int64_t at = static_cast<int64_t>(kHeadBytes) + int64_t{written_} * int64_t{vocab_} * 4;
  ROTA_RETURN_IF_ERROR(write(logits.data(), bytes, at));
  hash_.update(logits.data(), bytes);
  ++written_;
  return Status();
}

Result<LogitsFileFacts> LogitsFile::finish() {
  ROTA_CHECK(written_ == rows_, "rows", written_, "of", rows_);
  const Sha256::Digest digest = hash_.finish();
  std::array<char, kHeadBytes> head = {};
  const std::array<uint32_t, 6> words = {1,
                                         static_cast<uint32_t>(vocab_),
                                         static_cast<uint32_t>(first_row_),
                                         static_cast<uint32_t>(rows_),
                                         0,
                                         0};
  std::memcpy(head.data(), "ROTALGTS", 8);
  std::memcpy(head.data() + 8, words.data(), sizeof words);
  std::memcpy(head.data() + 32, digest.data(), digest.size());
  ROTA_RETURN_IF_ERROR(write(head.data(), head.size(), 0));
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0) return trouble(path_, std::string("cannot write: ") + std::strerror(errno));
  finished_ = true;
  return LogitsFileFacts{path_, hex(digest), first_row_, rows_};
}

}  // namespace rota
