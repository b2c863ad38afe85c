// The engine's stdin and its signals: commands in order, cancellation at once, and the ways an
// engine is told to end. Owns the listening thread; executes nothing.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engines/commands.h"
#include "engines/line_splitter.h"
#include "engines/outbox.h"

namespace rota {

struct Task {
  Command command;
  int64_t arrived_ns = 0;
  std::shared_ptr<std::atomic<bool>> cancelled;
};

// It ends by `quit` (everything in flight is cancelled), by the end of stdin (what was asked is
// still answered, as long as somebody reads the answers), and by SIGTERM or SIGINT (everything is
// cancelled). After a signal, or when nobody is left to hear it, a request that does not end by
// itself within the grace time ends with the process.
class Inbox {
 public:
  // Call block_signals() first, before any thread is started: signals then arrive here.
  static void block_signals();
  Inbox(int fd, Outbox& outbox, int grace_ms = 3000);
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // Waits. nullopt = the engine is to end.
  std::optional<Task> next();
  // The task that next() gave is answered.
  void finished();
  // True when everything is to stop now: asked between steps of a load.
  bool stopping() const { return stopping_; }
  // 128 + signal, or 0.
  int exit_code() const { return exit_code_; }

 private:
  void listen();
  bool read_some();  // false at the end of stdin
  void take_line(const std::string& line);
  void refuse_line(LineSplitter::Refused why);
  void stop(int exit_code);
  void watch_grace();

  int fd_, signal_fd_ = -1, wake_fd_ = -1;
  Outbox& outbox_;
  int grace_ms_;
  LineSplitter lines_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Task> waiting_;
  std::shared_ptr<std::atomic<bool>> current_;
  std::optional<int64_t> current_id_;
  bool ended_ = false;  // no further command will come
  std::atomic<bool> stopping_{false}, closing_{false};
  std::atomic<int> exit_code_{0};
  int64_t stop_deadline_ns_ = 0;
  std::thread thread_;
};

}  // namespace rota
