// Which CPUs this process may use, and how they are grouped into cores, caches and memory nodes.
// Reads affinity, sysfs and cgroup; starts no thread and changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace rota {

struct TopologyCpu {
  int cpu = 0;
  int node = 0;       // of memory; 0 where the system does not say
  std::string core;   // equal text: hyper-threads of one core
  std::string cache;  // equal text: one last-level cache
};

struct Topology {
  std::vector<TopologyCpu> cpus;  // those this process may use, ascending
  std::vector<int> nodes;  // all of the machine, ascending; {0} where the system does not say

  // One CPU of each core, ascending, of these nodes only; no nodes: of all.
  std::vector<TopologyCpu> cores(const std::vector<int>& nodes = {}) const;
};

// root: where "devices/system" lies; a test has a machine of its own there.
Topology read_topology(const std::vector<int>& allowed_cpus, const std::string& root = "/sys");
Topology this_topology();

// Bytes that can be had on a node: free, and of files that can be dropped. Absent where the system
// does not say.
std::optional<uint64_t> node_available_bytes(int node, const std::string& root = "/sys");

// CPUs of the calling thread's affinity mask.
std::vector<int> allowed_cpus();

// One allowed logical CPU of each physical core, ascending: the affinity mask without its
// hyper-thread siblings.
std::vector<int> allowed_core_cpus();

// The cgroup's CPU quota in cores, rounded up; 0: none.
int quota_cores();

// Threads worth starting: physical cores, lowered to the cgroup's CPU quota (rounded up) where one
// is set. At least 1.
int usable_cores();

namespace topology_internal {
// "max 100000" -> 0 (no quota); "150000 100000" -> 2. Malformed text is no quota.
int quota_cores(const std::string& cpu_max);
}  // namespace topology_internal

}  // namespace rota
