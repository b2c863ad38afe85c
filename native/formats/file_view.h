// One file's bytes, whether it lies on the disk whole or as raw parts FILE.part-00, FILE.part-01, …
// that were never joined. Owns the mappings and the naming of parts; knows nothing of the contents.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/mmap_file.h"
#include "base/status.h"

namespace rota {

class FileView {
 public:
  // FILE, or any part of it, or FILE where only its parts are there. kLoad names what is missing: a
  // part between others, or one shorter than they are (parts but the last have one size).
  static Result<FileView> open(const std::string& path);
  // Of parts that are open, in their order; at least one.
  static Result<FileView> of(std::string path, std::vector<MmapFile> parts);

  const std::string& path() const { return path_; }  // of the whole, whether it is there or not
  uint64_t size() const { return size_; }
  const std::vector<MmapFile>& parts() const { return parts_; }

  struct Place {
    size_t part;
    uint64_t offset;  // in that part
  };
  // Where byte `offset` (below size()) is.
  Place place(uint64_t offset) const;

  // The longest run of [offset, offset + bytes) from its start that lies in one part.
  uint64_t run(uint64_t offset, uint64_t bytes) const;
  // In the mapping; nullptr when the range straddles parts.
  const uint8_t* within(uint64_t offset, uint64_t bytes) const;
  // The same, but a range that straddles parts is copied and kept. Not thread-safe.
  const uint8_t* at(uint64_t offset, uint64_t bytes);
  // Copies the range, in one piece or many.
  void read(uint64_t offset, uint64_t bytes, void* out) const;

 private:
  std::string path_;
  uint64_t size_ = 0;
  uint64_t part_bytes_ = 0;  // of every part but the last
  std::vector<MmapFile> parts_;
  std::vector<std::vector<uint8_t>> copies_;  // the buffers stay when this moves
};

// "FILE" of "FILE.part-07"; other paths unchanged.
std::string without_part_suffix(const std::string& path);
// True when FILE is there, whole or in parts.
bool file_or_parts_exist(const std::string& path);

}  // namespace rota
