// On which CPUs each compute thread may run. Owns the rules of affinity and nodes; pins nothing.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/topology.h"

namespace rota {

struct Affinity {
  // kCores: one core a thread, ascending. kSpread: the same, but neighbours in number are far
  // apart: over nodes and last-level caches in turn. kNone: anywhere. kList: thread i on the i-th
  // CPU.
  enum class Kind { kCores, kSpread, kNone, kList };
  Kind kind = Kind::kCores;
  std::vector<int> list;
};

// "cores", "spread", "none" or a list of CPUs. kUsage: anything else.
Result<Affinity> parse_affinity(const std::string& text);
std::string format_affinity(const Affinity& affinity);

struct ThreadPlan {
  // [threads]; thread 0 is the caller. An empty list: any CPU.
  std::vector<std::vector<int>> cpus;
};

// threads 0: one a core of the nodes, lowered to quota_cores (0: no quota), or as many as the list
// has. More threads than cores are not pinned to single cores. kUsage, naming the flag: a node or a
// CPU that is not there, or a list too short.
Result<ThreadPlan> plan_threads(const Topology& topology, const Affinity& affinity,
                                const std::vector<int>& nodes, int threads, int quota_cores);

}  // namespace rota
