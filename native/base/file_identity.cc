// stat and its comparison.
#include "base/file_identity.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace rota {
namespace {

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileIdentity identity(const struct stat& info) {
  return {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino),
          static_cast<uint64_t>(info.st_size), nanoseconds(info.st_mtim),
          nanoseconds(info.st_ctim)};
}

Status cannot_stat(const std::string& path) {
  return Status(Code::kIo, path + ": cannot stat: " + std::strerror(errno));
}

}  // namespace

Result<FileIdentity> FileIdentity::of(int fd, const std::string& path) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return cannot_stat(path);
  return identity(info);
}

Result<FileIdentity> FileIdentity::of(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return cannot_stat(path);
  return identity(info);
}

Status check_unchanged(const std::string& path, const FileIdentity& then, bool* touched) {
  const auto changed = [&path](const std::string& what) {
    return Status(Code::kIo, path + ": changed since it was opened: " + what +
                                 "; restart the engine on files that stay as they are");
  };
  const auto found = FileIdentity::of(path);
  if (!found.ok()) return changed("it is gone");
  const FileIdentity& now = found.value();
  if (now.device != then.device || now.inode != then.inode)
    return changed("another file took its place");
  if (now.size != then.size) {
    return changed("it had " + std::to_string(then.size) + " bytes and has " +
                   std::to_string(now.size));
  }
  if (now.modified_ns != then.modified_ns) return changed("it was written to");
  *touched = now.changed_ns != then.changed_ns;
  return Status();
}

}  // namespace rota
