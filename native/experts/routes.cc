// Routes into a file.
#include "experts/routes.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "experts/routes_format.h"

namespace rota {
namespace {

uint16_t kind_word(PassKind kind) {
  const RowKind row = kind == PassKind::kPrefill  ? RowKind::kPrompt
                      : kind == PassKind::kVerify ? RowKind::kVerify
                                                  : RowKind::kDecode;
  return static_cast<uint16_t>(row);
}

void put_u32(std::string& out, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xffu);
}

}  // namespace

RouteLog::RouteLog(std::string path, int fd, const RouteShape& shape, size_t buffer)
    : path_(std::move(path)), fd_(fd), shape_(shape), limit_(buffer) {
  buffer_.reserve(limit_);
  buffer_ = kRoutesMagic;
  put_u32(buffer_, kRoutesVersion);
  put_u32(buffer_, static_cast<uint32_t>(shape_.layers));
  put_u32(buffer_, static_cast<uint32_t>(shape_.experts));
  put_u32(buffer_, static_cast<uint32_t>(shape_.top_k));
}

RouteLog::~RouteLog() {
  static_cast<void>(flush());
  ::close(fd_);
}

Result<std::unique_ptr<RouteLog>> RouteLog::open(const std::string& path, const RouteShape& shape,
                                                 size_t buffer) {
  const std::string problem = routes_shape_problem(shape);
  if (!problem.empty()) return Status(Code::kUsage, "--dump-routes: " + problem);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) {
    return Status(Code::kUsage,
                  "--dump-routes " + path + ": cannot write: " + std::strerror(errno));
  }
  return std::unique_ptr<RouteLog>(new RouteLog(path, fd, shape, buffer));
}

size_t RouteLog::row_words() const {
  return 1 + static_cast<size_t>(shape_.layers) * static_cast<size_t>(shape_.top_k);
}

Status RouteLog::add(PassKind kind, int layer, int rows, int top_k, const int* ids) {
  ROTA_CHECK(layer < shape_.layers && top_k == shape_.top_k, "layer", layer, "top_k", top_k);
  const auto count = static_cast<size_t>(rows), k = static_cast<size_t>(top_k);
  if (layer == 0) pass_.assign(count * row_words(), kind_word(kind));
  ROTA_CHECK(pass_.size() == count * row_words(), "rows", rows);
  for (size_t row = 0; row < count; ++row) {
    uint16_t* out = &pass_[row * row_words() + 1 + static_cast<size_t>(layer) * k];
    for (size_t i = 0; i < k; ++i) out[i] = static_cast<uint16_t>(ids[row * k + i]);
  }
  if (layer + 1 < shape_.layers) return Status();
  for (const uint16_t word : pass_) {
    buffer_ += static_cast<char>(word & 0xffu);
    buffer_ += static_cast<char>(word >> 8);
  }
  rows_ += rows;
  buffered_rows_ += rows;
  return buffer_.size() < limit_ ? Status() : flush();
}

// What could not be written is taken back whole, so that the file still reads.
Status RouteLog::flush() {
  size_t written = 0;
  while (written < buffer_.size()) {
    const ssize_t n = ::write(fd_, buffer_.data() + written, buffer_.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const std::string why = std::strerror(errno);
      const bool fresh = good_ == 0;
      if (::ftruncate(fd_, good_) == 0) static_cast<void>(::lseek(fd_, good_, SEEK_SET));
      rows_ -= buffered_rows_;
      buffered_rows_ = 0;
      buffer_.resize(fresh ? kRoutesHeaderBytes : 0);
      return Status(Code::kIo, "--dump-routes " + path_ + ": cannot write: " + why);
    }
    written += static_cast<size_t>(n);
  }
  good_ += static_cast<int64_t>(buffer_.size());
  buffered_rows_ = 0;
  buffer_.clear();
  return Status();
}

}  // namespace rota
