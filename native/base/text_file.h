// A text that a user named, read whole. Owns what may be taken for one; parses nothing.
#pragma once

#include <string>

#include "base/status.h"

namespace rota {

// The bytes of `path`. kUsage, with the path, for what cannot be opened or read, for a folder, a
// pipe or a device (which may have no end), and for more than 64 MiB.
Result<std::string> read_text_file(const std::string& path);

}  // namespace rota
