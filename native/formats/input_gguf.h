// Bytes in memory as the GGUF that a file of them would be, for tests and fuzz targets. Owns
// nothing: the bytes stay the caller's, in an allocation of their exact length, so that a read past
// their end shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "formats/file_view.h"
#include "formats/gguf.h"

namespace rota {

// As Gguf::open() of a file of these bytes; an empty file is refused before a reader sees it.
inline Result<Gguf> input_gguf(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return Status(Code::kLoad, "input: the file is empty");
  std::vector<MmapFile> parts;
  parts.push_back(MmapFile::of_memory("input", bytes));
  ROTA_ASSIGN_OR_RETURN(FileView view, FileView::of("input", std::move(parts)));
  return Gguf::read(std::move(view));
}

}  // namespace rota
