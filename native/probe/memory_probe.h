// The best read bandwidth of this machine's memory over 1 .. N threads. Owns a buffer too large for
// any cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "probe/samples.h"

namespace rota {

struct MemoryProbeOptions {
  uint64_t buffer_bytes =
      0;                 // 0: four times the last-level cache and a little more, at least 256 MiB
  double seconds = 1.0;  // for all thread counts together
  int max_threads = 0;   // 0: all usable cores
};

struct MemoryProbe {
  uint64_t buffer_bytes = 0;
  uint64_t last_level_cache_bytes = 0;  // 0: the system does not say
  std::string kernel;
  std::vector<RateSummary> by_threads;
};

Result<MemoryProbe> probe_memory(const MemoryProbeOptions& options);

// "32768K", "105M" -> bytes; 0 for anything else.
uint64_t parse_cache_size(const std::string& text);

}  // namespace rota
