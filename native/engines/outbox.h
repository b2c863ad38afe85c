// The engine's stdout: one JSON line an event, whole or not at all. Owns the descriptor's failures;
// builds no event.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

namespace rota {

class Outbox {
 public:
  explicit Outbox(int fd) : fd_(fd) {}
  // Adds the newline. Lines of different threads do not mix.
  void send(const std::string& line);
  // Nobody reads any more: the other end of the pipe is closed.
  bool closed();

 private:
  int fd_;
  std::mutex mutex_;
  std::atomic<bool> failed_{false};
};

}  // namespace rota
