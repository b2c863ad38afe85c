// One JSON line a decode pass, for whoever fits costs or checks identities. Owns the file and its
// buffer; a request's lines are written when it ends, so that no pass waits for a disk.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "decode/request.h"

namespace rota {

class Ledger {
 public:
  // Replaces what the file held.
  static Result<std::unique_ptr<Ledger>> open(const std::string& path);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  void add(const PassRecord& pass);
  // kIo when there is no room: the lines are held for the next flush, up to kMostHeldBytes, and the
  // file ends with a whole line.
  Status flush();
  static constexpr size_t kMostHeldBytes = size_t{64} << 20;

 private:
  Ledger(std::string path, int fd);
  Status hold(const char* why);

  std::string path_;
  int fd_;
  int64_t file_bytes_ = 0;  // whole lines in the file
  int64_t held_ = 0;        // lines in lines_
  std::string lines_;
};

std::string ledger_line(const PassRecord& pass);

}  // namespace rota
