// One flag for the process, as a handler needs it.
#include "tools/interruption.h"

#include <atomic>

namespace rota {
namespace {

std::atomic<int> g_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void remember(int signal) { g_signal = signal; }

}  // namespace

Interruption::Interruption() {
  g_signal = 0;
  struct sigaction action = {};
  action.sa_handler = remember;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    // What whoever started this lets pass (nohup) stays so.
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  if (came()) raise(g_signal);
}

bool Interruption::came() const { return g_signal != 0; }

}  // namespace rota
