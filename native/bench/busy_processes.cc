// fork, SIGSTOP and SIGCONT.
#include "bench/busy_processes.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

namespace rota {
namespace {

[[noreturn]] void stay_busy(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);  // it died before it could be watched
  raise(SIGSTOP);
  volatile unsigned long turns = 0;
  for (;;) turns = turns + 1;
}

}  // namespace

BusyProcesses::BusyProcesses(BusyProcesses&& other) noexcept
    : ids_(std::exchange(other.ids_, {})) {}

Result<BusyProcesses> BusyProcesses::start(int count) {
  BusyProcesses processes;
  const pid_t parent = getpid();
  for (int i = 0; i < count; ++i) {
    const pid_t id = fork();
    if (id == 0) stay_busy(parent);
    if (id < 0) {
      return Status(Code::kLoad, std::string("cannot start a busy process: ") + strerror(errno));
    }
    processes.ids_.push_back(id);
    int state = 0;
    while (waitpid(id, &state, WUNTRACED) < 0 && errno == EINTR) {
    }
  }
  return processes;
}

void BusyProcesses::let_run(int n) {
  for (size_t i = 0; i < ids_.size(); ++i) {
    kill(ids_[i], i < static_cast<size_t>(n) ? SIGCONT : SIGSTOP);
  }
}

BusyProcesses::~BusyProcesses() {
  for (const pid_t id : ids_) kill(id, SIGKILL);
  for (const pid_t id : ids_) {
    while (waitpid(id, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

}  // namespace rota
