// What the system refuses after the memory guard had let a load pass: memory and threads. Turns it
// into one line with bytes and a knob; asks for nothing itself.
#pragma once

#include <functional>
#include <vector>

#include "base/status.h"
#include "engines/memory_guard.h"

namespace rota {

// Runs a step. Refusals that arrive as exceptions (the heap, a thread) leave as kOutOfMemory.
Status catch_refusals(const std::function<Status()>& step);

// Of a kOutOfMemory: what was being asked for in all, in parts, and the knob that lowers the
// largest part that has one. `needs` is empty while they are not known yet. Any other status stays
// as it is.
Status explain_refusal(const Status& status, const std::vector<MemoryNeed>& needs);

}  // namespace rota
