// On which processors and in which memory the engine works: its flags, their effect on this
// process, and what the system made of them. Knows no model.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/flags.h"
#include "base/memory_limits.h"
#include "base/memory_placement.h"
#include "base/thread_plan.h"
#include "base/thread_pool.h"

namespace rota {

struct MachineOptions {
  int threads = 0;  // 0: one a core of the nodes
  Affinity affinity;
  std::vector<int> nodes;                 // of threads and memory; empty: all
  std::optional<NumaMemory> numa_memory;  // absent: bind with nodes, else off
  bool huge_pages = true;

  NumaMemory memory() const;
};

std::vector<Flag> machine_flags(MachineOptions& options);

// Checks them against this machine and sets what is set for the whole process: the policy of its
// memory. To be called before anything large is allocated and before threads are started.
Result<ThreadPoolOptions> prepare_machine(const MachineOptions& options);

// Where memory is bound, no more than its nodes have.
MemoryAvailable limit_to_nodes(MemoryAvailable available, const MachineOptions& options);

// What was really applied, read back from the system.
struct MachineState {
  std::vector<std::vector<int>> thread_cpus;    // [threads]
  std::map<int, uint64_t> node_bytes;           // of the experts' memory
  uint64_t huge_bytes = 0, resident_bytes = 0;  // of the same
};
MachineState machine_state(const ThreadPool& threads,
                           const std::vector<std::span<const uint8_t>>& memory);

// The object "machine" of ready, and the load line for people.
nlohmann::ordered_json machine_json(const MachineOptions& options, const MachineState& state);
std::string machine_line(const MachineOptions& options, const MachineState& state);
// The knobs as the engine reads them.
nlohmann::ordered_json machine_knobs(const MachineOptions& options, int threads);

}  // namespace rota
