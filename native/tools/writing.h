// What commands that write large files share: a look at the disk before, a line of progress while.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace rota {

// kIo when the disk of `out` has less free than `needed`: what needs it, how much, where, what
// there is.
Status check_disk(const std::string& out, uint64_t needed, const std::string& what);
// The same for the memory where the disk of `out` is memory (tmpfs).
Status check_tmpfs(const std::string& out, uint64_t needed, const std::string& what);

// A line on stderr with the share that is done and the time left, for runs that take long enough to
// wonder: kept up to date on a terminal, one every half minute in a log; one a second where
// ROTA_PROGRESS=lines asks for it, for a program that shows them itself.
class Progress {
 public:
  Progress();
  ~Progress();
  // `start` was done before this run and says nothing of its rate.
  void operator()(const char* phase, uint64_t start, uint64_t done, uint64_t total);

 private:
  int64_t start_ns_, last_ns_;
  const char* phase_ = nullptr;
  bool terminal_, lines_ = false, shown_ = false;
};

}  // namespace rota
