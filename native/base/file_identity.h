// Which file it was, and in which state, when it was opened: what tells that somebody changed it
// since. Knows nothing of contents.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace rota {

struct FileIdentity {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0;  // contents
  int64_t changed_ns = 0;   // contents, or only name, owner or mode

  // kIo with the path and the system's reason.
  static Result<FileIdentity> of(int fd, const std::string& path);
  static Result<FileIdentity> of(const std::string& path);
};

// Ok while `path` still names the file in the state `then`. Else kIo: the path, what happened to
// it, and what to do. A change of changed_ns alone is none: a file may be linked or given another
// owner; *touched says that it was, for whoever can compare contents.
Status check_unchanged(const std::string& path, const FileIdentity& then, bool* touched);

}  // namespace rota
