// Affinity and nodes -> a list of CPUs a thread.
#include "base/thread_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/cpu_list.h"

namespace rota {
namespace {

bool holds(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::vector<int> numbers_of(const std::vector<TopologyCpu>& cpus) {
  std::vector<int> numbers;
  for (const TopologyCpu& cpu : cpus) numbers.push_back(cpu.cpu);
  return numbers;
}

std::vector<int> cpus_on(const Topology& topology, const std::vector<int>& nodes) {
  std::vector<int> cpus;
  for (const TopologyCpu& cpu : topology.cpus) {
    if (nodes.empty() || holds(nodes, cpu.node)) cpus.push_back(cpu.cpu);
  }
  return cpus;
}

Status check_nodes(const Topology& topology, const std::vector<int>& nodes) {
  for (const int node : nodes) {
    const std::string flag = "--numa " + format_cpu_list(nodes) + ": ";
    if (!holds(topology.nodes, node)) {
      return Status(Code::kUsage, flag + "this machine has no node " + std::to_string(node) +
                                      "; it has " + format_cpu_list(topology.nodes));
    }
    if (cpus_on(topology, {node}).empty()) {
      return Status(Code::kUsage, flag + "none of the CPUs that this process may use (" +
                                      format_cpu_list(cpus_on(topology, {})) + ") is on node " +
                                      std::to_string(node));
    }
  }
  return Status();
}

Status check_list(const Topology& topology, const Affinity& affinity, const std::vector<int>& nodes,
                  int threads) {
  const std::vector<int> usable = cpus_on(topology, nodes);
  for (const int cpu : affinity.list) {
    if (holds(usable, cpu)) continue;
    const bool elsewhere = holds(cpus_on(topology, {}), cpu);
    return Status(Code::kUsage, "--affinity " + format_affinity(affinity) + ": CPU " +
                                    std::to_string(cpu) +
                                    (elsewhere ? " is on none of the nodes of --numa (CPUs "
                                               : " is none that this process may use (") +
                                    format_cpu_list(usable) + ")");
  }
  if (threads > static_cast<int>(affinity.list.size())) {
    return Status(Code::kUsage, "--affinity " + format_affinity(affinity) + ": " +
                                    std::to_string(affinity.list.size()) + " CPUs for " +
                                    std::to_string(threads) +
                                    " threads; name more, or lower --threads");
  }
  return Status();
}

// First one core of each (node, cache), then the second of each, and so on.
std::vector<TopologyCpu> in_turn(const std::vector<TopologyCpu>& cores) {
  std::map<std::pair<std::string, int>, size_t> taken;  // (cache, node) -> cores so far
  std::vector<std::pair<size_t, size_t>> order;         // (how many before it in its group, index)
  for (size_t i = 0; i < cores.size(); ++i) {
    order.emplace_back(taken[{cores[i].cache, cores[i].node}]++, i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TopologyCpu> turned;
  for (const auto& [before, i] : order) turned.push_back(cores[i]);
  return turned;
}

}  // namespace

Result<Affinity> parse_affinity(const std::string& text) {
  if (text == "cores") return Affinity{Affinity::Kind::kCores, {}};
  if (text == "spread") return Affinity{Affinity::Kind::kSpread, {}};
  if (text == "none") return Affinity{Affinity::Kind::kNone, {}};
  auto list = parse_ordered_cpu_list(text);
  if (list.ok()) return Affinity{Affinity::Kind::kList, std::move(list).value()};
  return Status(Code::kUsage,
                "\"" + text + "\" is none of cores, spread, none and a list of CPUs such as 0-3,8");
}

std::string format_affinity(const Affinity& affinity) {
  switch (affinity.kind) {
    case Affinity::Kind::kCores:
      return "cores";
    case Affinity::Kind::kSpread:
      return "spread";
    case Affinity::Kind::kNone:
      return "none";
    case Affinity::Kind::kList:
      break;
  }
  return format_cpu_list(affinity.list);
}

Result<ThreadPlan> plan_threads(const Topology& topology, const Affinity& affinity,
                                const std::vector<int>& nodes, int threads, int quota) {
  ROTA_RETURN_IF_ERROR(check_nodes(topology, nodes));
  const bool listed = affinity.kind == Affinity::Kind::kList;
  if (listed) ROTA_RETURN_IF_ERROR(check_list(topology, affinity, nodes, threads));
  std::vector<TopologyCpu> cores = topology.cores(nodes);
  if (affinity.kind == Affinity::Kind::kSpread) cores = in_turn(cores);
  const std::vector<int> single = listed ? affinity.list : numbers_of(cores);
  int count = threads > 0 ? threads : std::max(1, static_cast<int>(single.size()));
  if (threads == 0 && !listed && quota > 0) count = std::min(count, quota);
  ThreadPlan plan;
  plan.cpus.resize(static_cast<size_t>(count));
  const bool pinned =
      affinity.kind != Affinity::Kind::kNone && static_cast<size_t>(count) <= single.size();
  // Without a core each, threads stay within their nodes all the same.
  const std::vector<int> anywhere = nodes.empty() ? std::vector<int>() : cpus_on(topology, nodes);
  for (size_t i = 0; i < plan.cpus.size(); ++i) {
    plan.cpus[i] = pinned ? std::vector<int>{single[i]} : anywhere;
  }
  return plan;
}

}  // namespace rota
