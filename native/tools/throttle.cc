#include "tools/throttle.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string>

#include "base/clock.h"
#include "base/flags.h"

namespace rota {
namespace {

constexpr double kMostMs = 60'000, kNsPerMs = 1e6, kNsPerS = 1e9;

// The signal that came, or 0 at the deadline.
int wait_until(int64_t deadline_ns, const sigset_t& signals) {
  for (;;) {
    const int64_t left = deadline_ns - now_ns();
    if (left <= 0) return 0;
    const timespec timeout{static_cast<time_t>(left / 1'000'000'000),
                           static_cast<long>(left % 1'000'000'000)};
    const int signal = sigtimedwait(&signals, nullptr, &timeout);
    if (signal > 0) return signal;
    if (errno == EAGAIN) return 0;
  }
}

// Never returns to the caller. `report` closes itself when the program has been started.
[[noreturn]] void become(char* const argv[], const sigset_t& mask, pid_t parent, int report) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before that was said
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvp(argv[0], argv);
  const int error = errno;
  if (write(report, &error, sizeof error) < 0) _exit(126);
  _exit(127);
}

Result<pid_t> start(char* const argv[], const sigset_t& mask) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Status(Code::kLoad, std::string("no pipe: ") + std::strerror(errno));
  const pid_t self = getpid(), child = fork();
  if (child == 0) become(argv, mask, self, ends[1]);
  close(ends[1]);
  int error = child < 0 ? errno : 0;
  if (child > 0 && read(ends[0], &error, sizeof error) > 0) waitpid(child, nullptr, 0);
  close(ends[0]);
  if (error == 0) return child;
  return Status(Code::kLoad, std::string("cannot start ") + argv[0] + ": " + std::strerror(error));
}

// Moments of a millisecond: the kernel may round a sleep by 50 microseconds, and a busy core may
// keep this process waiting. Where real-time priority is not allowed it does without.
void be_punctual() {
  prctl(PR_SET_TIMERSLACK, 1UL);
  sched_param priority{};
  priority.sched_priority = 1;
  (void)sched_setscheduler(0, SCHED_FIFO, &priority);
}

class Throttled {
 public:
  Throttled(pid_t child, const sigset_t& signals) : child_(child), signals_(signals) {}

  ThrottleReport run(const ThrottleRule& rule) {
    while (!pass(rule.run_ns, report_.running_s)) {
      if (is_ending_) continue;
      kill(child_, SIGSTOP);
      ++report_.stops;
      const bool has_ended = pass(rule.stop_ns, report_.stopped_s);
      kill(child_, SIGCONT);
      if (has_ended) break;
    }
    return report_;
  }

 private:
  // Lets time go by and adds it up. True when the program has ended.
  bool pass(int64_t ns, double& total_s) {
    const int64_t begin = now_ns();
    bool has_ended = false;
    while (const int signal = wait_until(begin + ns, signals_)) {
      if (signal == SIGCHLD) {
        if ((has_ended = reap())) break;
      } else {
        is_ending_ = true;
        kill(child_, signal);
        kill(child_, SIGCONT);
      }
    }
    total_s += static_cast<double>(now_ns() - begin) / kNsPerS;
    return has_ended;
  }

  bool reap() {
    int status = 0;
    if (waitpid(child_, &status, WNOHANG) != child_) return false;
    if (WIFSIGNALED(status)) report_.exit_signal = WTERMSIG(status);
    if (WIFEXITED(status)) report_.exit_code = WEXITSTATUS(status);
    return true;
  }

  const pid_t child_;
  const sigset_t signals_;
  ThrottleReport report_;
  bool is_ending_ = false;  // told to end: it is not stopped any more
};

}  // namespace

Result<ThrottleRule> parse_throttle(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    auto run = parse_number(std::string(text.substr(0, colon)), 0, kMostMs);
    auto stop = parse_number(std::string(text.substr(colon + 1)), 0, kMostMs);
    if (run.ok() && stop.ok() && *run > 0 && *stop > 0)
      return ThrottleRule{std::llround(*run * kNsPerMs), std::llround(*stop * kNsPerMs)};
  }
  return Status(Code::kUsage, "'" + std::string(text) +
                                  "' is no RUN:STOP in milliseconds, such as 20:1; each is more "
                                  "than 0 and at most 60000");
}

Result<ThrottleReport> run_throttled(const ThrottleRule& rule, char* const argv[]) {
  sigset_t signals, before;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, &before);
  struct sigaction only_ends{};
  only_ends.sa_handler = SIG_DFL;
  only_ends.sa_flags = SA_NOCLDSTOP;  // its own stops are no news
  sigaction(SIGCHLD, &only_ends, nullptr);
  auto child = start(argv, before);
  if (!child.ok()) return child.status();
  be_punctual();
  return Throttled(*child, signals).run(rule);
}

}  // namespace rota
