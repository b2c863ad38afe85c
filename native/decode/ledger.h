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
  Status flush();

 private:
  Ledger(std::string path, int fd);
  std::string path_;
  int fd_;
  std::string lines_;
};

std::string ledger_line(const PassRecord& pass);

}  // namespace rota
