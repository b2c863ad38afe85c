// Processes that do nothing but keep a core busy, some running, the others stopped. Owns them: they
// end with this object, and with this process however it ends.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/status.h"

namespace rota {

class BusyProcesses {
 public:
  // Starts `count` of them, all stopped. To be called before the first thread is started: a fork of
  // a process with threads could inherit a lock that nobody opens.
  static Result<BusyProcesses> start(int count);
  BusyProcesses(BusyProcesses&& other) noexcept;
  BusyProcesses& operator=(BusyProcesses&&) = delete;
  ~BusyProcesses();

  // Lets the first n run and stops the others.
  void let_run(int n);
  const std::vector<pid_t>& ids() const { return ids_; }

 private:
  BusyProcesses() = default;
  std::vector<pid_t> ids_;
};

}  // namespace rota
