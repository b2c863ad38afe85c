// A text that a user named, read or written whole. Owns what may be taken for one; parses nothing.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace rota {

// The bytes of `path`. kUsage, with the path, for what cannot be opened or read, for a folder, a
// pipe or a device (which may have no end), and for more than 64 MiB.
Result<std::string> read_text_file(const std::string& path);

// Over whatever was there. kIo, with the path, where not all of it could be written.
Status write_text_file(const std::string& path, std::string_view text);

}  // namespace rota
