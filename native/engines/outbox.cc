// Writing whole lines to stdout.
#include "engines/outbox.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace rota {

void Outbox::send(const std::string& line) {
  const std::lock_guard lock(mutex_);
  const std::string whole = line + "\n";
  size_t written = 0;
  while (written < whole.size() && !failed_) {
    const ssize_t n = ::write(fd_, whole.data() + written, whole.size() - written);
    if (n >= 0) {
      written += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      failed_ = true;
    }
  }
}

bool Outbox::closed() {
  if (failed_) return true;
  // A pipe without a reader says POLLERR, a socket or a terminal without its other end POLLHUP.
  pollfd state{fd_, 0, 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}

}  // namespace rota
