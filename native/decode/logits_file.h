// A file with whole rows of logits, for whoever compares distributions. Owns its form and that no
// half of one stays behind; knows no model.
//
// 64 bytes, little-endian: "ROTALGTS", then 32-bit words: version 1, vocab, first row, rows, 0 (the
// rows are float32), 0; then the SHA-256 of the rows. Behind it rows x vocab float32, row by row.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/sha256.h"
#include "base/status.h"
#include "decode/request.h"

namespace rota {

class LogitsFile {
 public:
  // kIo, with the path and sizes: it exists already, cannot be written, or the disk has no room for
  // all rows.
  static Result<std::unique_ptr<LogitsFile>> create(const std::string& path, int vocab,
                                                    int first_row, int rows);
  ~LogitsFile();  // takes away what was not finished
  LogitsFile(const LogitsFile&) = delete;
  LogitsFile& operator=(const LogitsFile&) = delete;

  Status add(std::span<const float> logits);  // [vocab]
  // After all rows: the head is written, and the file stays.
  Result<LogitsFileFacts> finish();

 private:
  LogitsFile(std::string path, int fd, int vocab, int first_row, int rows);
  Status write(const void* data, size_t bytes, int64_t at) const;

  std::string path_;
  int fd_;
  int vocab_, first_row_, rows_, written_ = 0;
  Sha256 hash_;
  bool finished_ = false;
};

}  // namespace rota
