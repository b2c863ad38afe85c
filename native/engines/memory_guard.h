// Whether a load fits: what the machine and the control group still have, against what is asked.
// Owns the refusal's words; takes no memory itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace rota {

struct MemoryAvailable {
  uint64_t bytes = UINT64_MAX;
  std::string limit;  // what set it: "MemAvailable" or "the memory limit of its control group"
};

// The smaller of MemAvailable and what every control group above this process still allows.
MemoryAvailable memory_available();

struct MemoryNeed {
  const char* what;  // "slots"
  const char* knob;  // "--slots"; nullptr when no knob lowers it
  uint64_t bytes;
};

// kOutOfMemory: what was asked in parts, what there is, and which knob to lower: the largest part
// that has one.
Status check_memory(const std::vector<MemoryNeed>& needs, const MemoryAvailable& available);

namespace memory_internal {
// MemAvailable of a /proc/meminfo text in bytes; UINT64_MAX when it has none.
uint64_t parse_mem_available(const std::string& meminfo);
// What the groups of a /proc/self/cgroup text allow, under `root` (version 2, and version 1's
// memory controller).
uint64_t cgroup_headroom(const std::string& self_cgroup, const std::string& root);
}  // namespace memory_internal

}  // namespace rota
