// Whether a load fits: what the machine and the control group still have, against what is asked.
// Owns the refusal's words; takes no memory itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/memory_limits.h"
#include "base/status.h"

namespace rota {

// Left for the program itself, its stacks and its JSON.
inline constexpr uint64_t kProgramBytes = uint64_t{64} << 20;

struct MemoryNeed {
  const char* what;  // "slots"
  const char* knob;  // "--slots"; nullptr when no knob lowers it
  uint64_t bytes;
};

// kOutOfMemory: what was asked in parts, what there is and which file says so, and which knob to
// lower: the largest part that has one.
Status check_memory(const std::vector<MemoryNeed>& needs, const MemoryAvailable& available);

}  // namespace rota
