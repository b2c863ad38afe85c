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
#include <new>

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

Inbox::Inbox(int fd, Outbox& outbox, int grace_ms) : fd_(fd), outbox_(outbox), grace_ms_(grace_ms) {
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

void Inbox::take_line(std::string line) {
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

bool Inbox::read_some() {
  char buffer[65536];
  const ssize_t n = ::read(fd_, buffer, sizeof buffer);
  if (n < 0 && errno == EINTR) return true;
  if (n <= 0) {
    // A last line without its newline may be half of one: a writer that was killed must not start a
    // request.
    return false;
  }
  size_t begin = 0;
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    if (buffer[i] != '\n') continue;
    partial_.append(buffer + begin, i - begin);
    if (!skipping_) take_line(std::move(partial_));
    partial_.clear();
    skipping_ = false;
    begin = i + 1;
  }
  partial_.append(buffer + begin, static_cast<size_t>(n) - begin);
  if (partial_.size() > kMaxLine) {
    if (!skipping_) take_line("a line of more than 64 MiB");  // answered as malformed
    skip_line();
  }
  return true;
}

// The rest of the line is not kept, and what was kept is given back.
void Inbox::skip_line() {
  skipping_ = true;
  partial_ = std::string();
}

// A line that memory has no room for is answered like one that is too long; the engine lives on.
bool Inbox::read_within_memory() {
  try {
    return read_some();
  } catch (const std::bad_alloc&) {
    skip_line();
    Task task{Command(), now_ns(), std::make_shared<std::atomic<bool>>(false)};
    task.command.code = "out_of_memory";
    task.command.message = "the system refused memory for this line";
    const std::lock_guard lock(mutex_);
    if (!ended_) waiting_.push_back(std::move(task));
    arrived_.notify_all();
    return true;
  }
}

void Inbox::watch_grace() {
  if (!stopping_ || now_ns() < stop_deadline_ns_) return;
  std::fprintf(stderr,
               "serve: ended with a request in flight that took longer than %d ms to stop\n",
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
    if (open && ready > 0 && fds[2].revents != 0 && !read_within_memory()) {
      open = false;
      const std::lock_guard lock(mutex_);
      ended_ = true;
      arrived_.notify_all();
    }
    if (!open && !stopping_ && outbox_.closed()) stop(0);
  }
}

}  // namespace rota
