// Listening: lines from stdin, signals, and a grace time after the order to stop.
#include "engines/inbox.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/check.h"
#include "base/clock.h"

namespace rota {
namespace {

// A prompt of a million ids is about 8 MB of JSON.
constexpr size_t kMaxLine = size_t{64} << 20;
// How often it looks whether somebody still reads, once stdin has ended.
constexpr int kLookMs = 100;

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

void Inbox::block_signals() {
  const sigset_t set = ending_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

Inbox::Inbox(int fd, Outbox& outbox, int grace_ms)
    : fd_(fd),
      outbox_(outbox),
      grace_ms_(grace_ms),
      lines_(
          kMaxLine, [this](const std::string& line) { take_line(line); },
          [this](LineSplitter::Refused why) { refuse_line(why); }) {
  const sigset_t set = ending_signals();
  signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC);
  wake_fd_ = eventfd(0, EFD_CLOEXEC);
  ROTA_CHECK(signal_fd_ >= 0 && wake_fd_ >= 0, "errno", errno);
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "rota-inbox");
    listen();
  });
}

Inbox::~Inbox() {
  closing_ = true;
  const uint64_t one = 1;
  ROTA_CHECK(::write(wake_fd_, &one, sizeof one) == sizeof one, "errno", errno);
  thread_.join();
  ::close(signal_fd_);
  ::close(wake_fd_);
}

std::optional<Task> Inbox::next() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [this] { return !waiting_.empty() || ended_; });
  if (waiting_.empty()) return std::nullopt;
  Task task = std::move(waiting_.front());
  waiting_.pop_front();
  current_ = task.cancelled;
  current_id_ = task.command.id;
  return task;
}

void Inbox::finished() {
  const std::lock_guard lock(mutex_);
  current_.reset();
  current_id_.reset();
}

void Inbox::stop(int exit_code) {
  const std::lock_guard lock(mutex_);
  if (exit_code != 0) exit_code_ = exit_code;
  if (!stopping_) stop_deadline_ns_ = now_ns() + int64_t{grace_ms_} * 1000000;
  stopping_ = true;
  ended_ = true;
  if (current_) *current_ = true;
  for (Task& task : waiting_) *task.cancelled = true;
  arrived_.notify_all();
}

void Inbox::take_line(const std::string& line) {
  if (line.find_first_not_of(" \t\r") == std::string::npos) return;
  Task task{parse_command(line), now_ns(), std::make_shared<std::atomic<bool>>(false)};
  if (task.command.op == Op::kQuit) {
    stop(0);
    return;
  }
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  const auto same = [&task](const std::optional<int64_t>& id) {
    return id && id == task.command.id;
  };
  bool in_flight = current_ && same(current_id_);
  if (task.command.op == Op::kCancel) {
    // Of a request that is already answered, or never was: nothing to do. The answer is the
    // request's own `done`.
    if (in_flight) *current_ = true;
    for (Task& other : waiting_) {
      if (same(other.command.id)) *other.cancelled = true;
    }
    return;
  }
  for (const Task& other : waiting_) in_flight = in_flight || same(other.command.id);
  if (in_flight) {
    const int64_t id = task.command.id.value_or(0);
    task.command = Command();
    task.command.code = "bad_request";
    task.command.message =
        "id " + std::to_string(id) + " belongs to a request that is not yet answered";
  }
  waiting_.push_back(std::move(task));
  arrived_.notify_all();
}

// A line that cannot be kept is answered; the engine lives on.
void Inbox::refuse_line(LineSplitter::Refused why) {
  const bool too_long = why == LineSplitter::Refused::kTooLong;
  Task task{Command(), now_ns(), std::make_shared<std::atomic<bool>>(false)};
  task.command.code = too_long ? "malformed" : "out_of_memory";
  task.command.message =
      too_long ? "a line of more than 64 MiB" : "the system refused memory for this line";
  const std::lock_guard lock(mutex_);
  if (!ended_) waiting_.push_back(std::move(task));
  arrived_.notify_all();
}

bool Inbox::read_some() {
  char buffer[65536];
  const ssize_t n = ::read(fd_, buffer, sizeof buffer);
  if (n < 0 && errno == EINTR) return true;
  // A last line without its newline may be half of one: a writer that was killed must not start a
  // request.
  if (n <= 0) return false;
  lines_.feed({buffer, static_cast<size_t>(n)});
  return true;
}

void Inbox::watch_grace() {
  if (!stopping_ || now_ns() < stop_deadline_ns_) return;
  const std::lock_guard lock(mutex_);
  std::fprintf(stderr, "serve: ended %s that took longer than %d ms to stop\n",
               current_ ? "with a request in flight" : "in a step of the load or of the end",
               grace_ms_);
  std::_Exit(exit_code_ != 0 ? exit_code_.load() : 1);
}

void Inbox::listen() {
  bool open = true;
  while (!closing_) {
    pollfd fds[3] = {{signal_fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}, {fd_, POLLIN, 0}};
    const bool look = !open || stopping_;
    const int ready = ::poll(fds, open ? 3 : 2, look ? kLookMs : -1);
    watch_grace();
    if (ready > 0 && (fds[0].revents & POLLIN) != 0) {
      signalfd_siginfo info;
      if (::read(signal_fd_, &info, sizeof info) == sizeof info) {
        stop(128 + static_cast<int>(info.ssi_signo));
      }
    }
    if (open && ready > 0 && fds[2].revents != 0 && !read_some()) {
      open = false;
      const std::lock_guard lock(mutex_);
      ended_ = true;
      arrived_.notify_all();
    }
    if (!open && !stopping_ && outbox_.closed()) stop(0);
  }
}

}  // namespace rota
