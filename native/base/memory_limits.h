// How much memory this process may still take, and which file says so: the machine, every control
// group above the process, its own limits. Owns the reading; refuses nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rota {

struct MemoryAvailable {
  uint64_t bytes = UINT64_MAX;
  std::string limit;               // what set it: "MemAvailable (/proc/meminfo)"
  uint64_t lockable = UINT64_MAX;  // that mlock will take
};

struct MemorySources {
  std::string root;                 // in front of /proc and /sys; tests put their own files there
  std::optional<uint64_t> assumed;  // in place of MemAvailable, where memory grows as it is used
};

// The least of MemAvailable (or what is assumed), of what every control group above the process
// leaves (memory.max and memory.high of version 2, the limit of version 1; page cache that the
// kernel would give back counts as free), and of the address space that RLIMIT_AS leaves.
MemoryAvailable memory_available(const MemorySources& sources = {});

namespace memory_internal {
// MemAvailable of a /proc/meminfo text in bytes; UINT64_MAX when it has none, or more than that.
uint64_t parse_mem_available(const std::string& meminfo);
// The soft limit of that name in a /proc/self/limits text; UINT64_MAX when unlimited or absent.
uint64_t parse_limit(const std::string& limits, const std::string& name);
}  // namespace memory_internal

}  // namespace rota
