// Threads on cores, memory on nodes and pages.
#include "engines/strata/machine.h"

#include <nlohmann/json.hpp>

#include "base/cpu_list.h"
#include "base/page_use.h"
#include "engines/size_value.h"

namespace rota {
namespace {

using Json = nlohmann::ordered_json;

std::string nodes_text(const std::vector<int>& nodes) {
  return nodes.empty() ? "all" : format_cpu_list(nodes);
}

Status set_nodes(MachineOptions& options, const std::string& text) {
  options.nodes.clear();
  if (text == "all") return Status();
  ROTA_ASSIGN_OR_RETURN(options.nodes, parse_cpu_list(text));
  return Status();
}

Status set_memory(MachineOptions& options, const std::string& text) {
  options.numa_memory.reset();
  if (text == "auto") return Status();
  const auto memory = parse_numa_memory(text);
  if (!memory.ok()) {
    return Status(Code::kUsage,
                  "\"" + text + "\" is none of auto, bind, interleave, local and off");
  }
  options.numa_memory = memory.value();
  return Status();
}

// The family's switch says what not to do.
Result<std::string> huge_pages_unless(const std::string& text) {
  if (text == "1") return std::string("off");
  if (text == "0") return std::string();
  return Status(Code::kUsage, "\"" + text + "\" is neither 1 (no huge pages) nor 0");
}

// "0,1" of single CPUs, "0-3|0-3" of lists that differ from one another.
std::string cpus_text(const std::vector<std::vector<int>>& cpus) {
  std::string text;
  bool single = true;
  for (const std::vector<int>& list : cpus) single = single && list.size() == 1;
  for (const std::vector<int>& list : cpus) {
    text += (text.empty() ? "" : single ? "," : "|") + format_cpu_list(list);
  }
  return text;
}

}  // namespace

NumaMemory MachineOptions::memory() const {
  return numa_memory.value_or(nodes.empty() ? NumaMemory::kOff : NumaMemory::kBind);
}

std::vector<Flag> machine_flags(MachineOptions& o) {
  return {
      {"--threads",
       "N",
       "compute threads; 0 = one a physical core (default 0)",
       [&o](const std::string& text) -> Status {
         ROTA_ASSIGN_OR_RETURN(o.threads, parse_int(text, 0, 1024));
         return Status();
       },
       {{"DS4_THREADS"}}},
      {"--affinity", "WHERE",
       "cores: a core of its own for each thread; spread: the same, over nodes and caches in turn; "
       "none; or a list of CPUs, thread by thread (default cores)",
       [&o](const std::string& text) -> Status {
         ROTA_ASSIGN_OR_RETURN(o.affinity, parse_affinity(text));
         return Status();
       }},
      {"--numa",
       "LIST",
       "nodes for threads and memory, such as 0 or 0-1 (default all)",
       [&o](const std::string& text) { return set_nodes(o, text); },
       {{"DS4_NUMA"}}},
      {"--numa-memory", "HOW",
       "auto, bind, interleave, local or off; auto binds to the nodes of --numa (default auto)",
       [&o](const std::string& text) { return set_memory(o, text); }},
      {"--huge-pages",
       "on|off",
       "ask for huge pages for the experts' memory (default on)",
       [&o](const std::string& text) -> Status {
         ROTA_ASSIGN_OR_RETURN(o.huge_pages, parse_on_off(text));
         return Status();
       },
       {{"STRATA_NO_LARGEPAGES", huge_pages_unless}}},
  };
}

Result<ThreadPoolOptions> prepare_machine(const MachineOptions& options) {
  ThreadPoolOptions pool;
  ROTA_ASSIGN_OR_RETURN(ThreadPlan plan,
                        plan_threads(this_topology(), options.affinity, options.nodes,
                                     options.threads, quota_cores()));
  pool.cpus = std::move(plan.cpus);
  set_huge_pages(options.huge_pages);
  ROTA_RETURN_IF_ERROR(set_numa_memory(options.memory(), options.nodes));
  return pool;
}

MemoryAvailable limit_to_nodes(MemoryAvailable available, const MachineOptions& options) {
  if (options.memory() != NumaMemory::kBind) return available;
  uint64_t bytes = 0;
  for (const int node : options.nodes) {
    const auto on_node = node_available_bytes(node);
    if (!on_node) return available;
    bytes += *on_node;
  }
  if (bytes >= available.bytes) return available;
  available.bytes = bytes;
  available.limit = "the memory of NUMA node " + nodes_text(options.nodes);
  return available;
}

MachineState machine_state(const ThreadPool& threads,
                           const std::vector<std::span<const uint8_t>>& memory) {
  MachineState state;
  state.thread_cpus = threads.placed_cpus();
  for (const std::span<const uint8_t> part : memory) {
    if (part.empty()) continue;
    for (const auto& [node, bytes] : bytes_by_node(part.data(), part.size())) {
      state.node_bytes[node] += bytes;
    }
    const PageUse use = page_use(part.data(), part.size());
    state.huge_bytes += use.huge_bytes;
    state.resident_bytes += use.resident_bytes;
  }
  return state;
}

Json machine_json(const MachineOptions& options, const MachineState& state) {
  Json cpus = Json::array(), nodes = Json::object();
  for (const std::vector<int>& list : state.thread_cpus) cpus.push_back(format_cpu_list(list));
  for (const auto& [node, bytes] : state.node_bytes) nodes[std::to_string(node)] = bytes;
  return {{"thread_cpus", cpus},
          {"numa_memory", numa_memory_name(options.memory())},
          {"node_bytes", nodes},
          {"huge_bytes", state.huge_bytes},
          {"resident_bytes", state.resident_bytes}};
}

std::string machine_line(const MachineOptions& options, const MachineState& state) {
  std::string line = "machine: " + std::to_string(state.thread_cpus.size()) + " threads on CPUs " +
                     cpus_text(state.thread_cpus) + " (affinity " +
                     format_affinity(options.affinity) + "); experts' memory " +
                     format_gib(state.resident_bytes) + ", " + format_gib(state.huge_bytes) +
                     " on huge pages";
  for (const auto& [node, bytes] : state.node_bytes) {
    line += ", " + format_gib(bytes) + " on node " + std::to_string(node);
  }
  return line + " (numa " + nodes_text(options.nodes) + ", memory " +
         numa_memory_name(options.memory()) + ")";
}

Json machine_knobs(const MachineOptions& options, int threads) {
  return {{"threads", threads},
          {"affinity", format_affinity(options.affinity)},
          {"numa", nodes_text(options.nodes)},
          {"numa-memory", options.numa_memory ? numa_memory_name(*options.numa_memory) : "auto"},
          {"huge-pages", options.huge_pages ? "on" : "off"}};
}

}  // namespace rota
