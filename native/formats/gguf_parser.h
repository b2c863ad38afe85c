// Reads one GGUF file's header into checked lists. Private to gguf.cc; trusts no byte of the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/file_view.h"
#include "formats/gguf.h"

namespace rota {

struct GgufHeader {
  std::vector<std::pair<std::string, GgufValue>> keys;
  std::vector<GgufTensor> tensors;
};

// Parses and checks the whole header of `file`. Names may still collide across keys or tensors: the
// caller indexes them.
Result<GgufHeader> parse_gguf_header(FileView& file, int shard);

// Bytes of one value of a fixed-size type; 0 for strings and arrays.
uint64_t gguf_type_bytes(GgufType type);

}  // namespace rota
