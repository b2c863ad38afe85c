// Bytes of a stream, cut into lines. Owns the line that is not yet whole; knows nothing of what a
// line says.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace rota {

// A line that cannot be kept costs itself alone: its rest is passed over up to its own newline, and
// the lines around it are given out, however the bytes were cut.
class LineSplitter {
 public:
  enum class Refused { kTooLong, kNoMemory };

  // `line` gets each line without its newline; memory that the system refuses while a line is kept
  // or while `line` runs (std::bad_alloc) is reported to `refused`, once a line, and so is a line
  // of more than `longest` bytes.
  LineSplitter(size_t longest, std::function<void(const std::string&)> line,
               std::function<void(Refused)> refused)
      : longest_(longest), line_(std::move(line)), refused_(std::move(refused)) {}

  void feed(std::string_view bytes);

 private:
  void keep(std::string_view piece);
  void end_line();
  void refuse(Refused why);

  size_t longest_;
  std::function<void(const std::string&)> line_;
  std::function<void(Refused)> refused_;
  std::string partial_;
  bool skipping_ = false;  // the rest of a line that was refused
};

}  // namespace rota
