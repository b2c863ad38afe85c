// Reading and writing a user's text.
#include "base/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rota {
namespace {

constexpr off_t kMostBytes = off_t{64} << 20;

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Status problem(const std::string& path, const std::string& what) {
  return Status(Code::kUsage, path + ": " + what);
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  // O_NONBLOCK: a pipe without a writer would be waited for.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat info = {};
  if (file.fd < 0 || fstat(file.fd, &info) != 0) {
    return problem(path, std::string("cannot open: ") + std::strerror(errno));
  }
  if (S_ISDIR(info.st_mode)) return problem(path, "is a folder; name a file");
  if (!S_ISREG(info.st_mode)) return problem(path, "is no regular file");
  if (info.st_size > kMostBytes) return problem(path, "has more than the 64 MiB of a text");
  std::string text(static_cast<size_t>(info.st_size), '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t n = ::read(file.fd, text.data() + have, text.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return problem(path, std::string("cannot read: ") + std::strerror(errno));
    if (n == 0) break;  // it became shorter
    have += static_cast<size_t>(n);
  }
  text.resize(have);
  return text;
}

Status write_text_file(const std::string& path, std::string_view text) {
  const auto failed = [&path] {
    return Status(Code::kIo, path + ": cannot write: " + std::strerror(errno));
  };
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return failed();
  Status status;
  while (!text.empty() && status.ok()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status = failed();
    text.remove_prefix(static_cast<size_t>(n < 0 ? 0 : n));
  }
  if (::close(fd) != 0 && status.ok()) status = failed();
  return status;
}

}  // namespace rota
