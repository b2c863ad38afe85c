// What every piece of text carries from one layer to the next, in a file: the model sees one layer,
// the memory one piece at a time. Owns the mapping and its checksum; knows nothing of what is
// carried.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace rota {

class PieceStates {
 public:
  PieceStates() = default;
  PieceStates(PieceStates&& other) noexcept;
  PieceStates& operator=(PieceStates&& other) noexcept;
  ~PieceStates();

  // A new file with room for `pieces` of `bytes` each, all taken from the disk now: kIo when there
  // is not as much.
  static Result<PieceStates> create(const std::string& path, size_t pieces, size_t bytes);
  // One that was sealed, unchanged since; otherwise an empty one.
  static PieceStates reopen(const std::string& path, size_t pieces, size_t bytes);
  bool empty() const { return memory_ == nullptr; }

  uint8_t* of(size_t piece) { return memory_ + piece * bytes_; }
  const uint8_t* of(size_t piece) const { return memory_ + piece * bytes_; }
  // Writes the checksum behind the states and gives the file its name.
  Status seal(const std::string& final_path);

 private:
  PieceStates(std::string path, uint8_t* memory, size_t pieces, size_t bytes)
      : path_(std::move(path)), memory_(memory), pieces_(pieces), bytes_(bytes) {}
  size_t mapped() const { return pieces_ * bytes_ + sizeof(uint64_t); }
  uint64_t checksum() const;
  void release();

  std::string path_;
  uint8_t* memory_ = nullptr;
  size_t pieces_ = 0, bytes_ = 0;
};

}  // namespace rota
