// Ctrl-C and SIGTERM of a command that has half a file to remove first. Owns the handlers while it
// lives.
#pragma once

#include <array>
#include <csignal>

namespace rota {

class Interruption {
 public:
  Interruption();
  // Puts the handlers back; a signal that came ends the process now, as it would have then.
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool came() const;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

}  // namespace rota
