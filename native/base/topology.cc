// Affinity mask, sysfs and the cgroup v2 CPU quota.
#include "base/topology.h"

#include <sched.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <set>
#include <sstream>

#include "base/cpu_list.h"

namespace rota {
namespace {

std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

std::vector<int> read_list(const std::string& path) {
  auto list = parse_cpu_list(read_line(path));
  return list.ok() ? std::move(list).value() : std::vector<int>();
}

bool holds(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// The kernel's list of the CPUs that share this one's largest cache.
std::string cache_of(const std::string& cpu_folder) {
  std::string shared;
  for (int index = 0; index < 8; ++index) {
    const std::string text =
        read_line(cpu_folder + "/cache/index" + std::to_string(index) + "/shared_cpu_list");
    if (!text.empty()) shared = text;
  }
  return shared;
}

// The tightest quota from the process's own cgroup up to the root (cgroup v2); 0 when there is
// none.
int cgroup_quota_cores() {
  std::ifstream file("/proc/self/cgroup");
  std::string line, group;
  while (std::getline(file, line)) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  int tightest = 0;
  for (;;) {
    const int quota =
        topology_internal::quota_cores(read_line("/sys/fs/cgroup" + group + "/cpu.max"));
    if (quota > 0) tightest = tightest == 0 ? quota : std::min(tightest, quota);
    const size_t slash = group.rfind('/');
    if (group.empty() || slash == std::string::npos) return tightest;
    group.resize(slash);
  }
}

}  // namespace

namespace topology_internal {

int quota_cores(const std::string& cpu_max) {
  std::istringstream text(cpu_max);
  int64_t quota = 0, period = 0;
  if (!(text >> quota >> period) || quota <= 0 || period <= 0) return 0;
  const int64_t cores = quota / period + (quota % period != 0);
  return static_cast<int>(std::min<int64_t>(cores, INT_MAX));
}

}  // namespace topology_internal

std::vector<TopologyCpu> Topology::cores(const std::vector<int>& wanted) const {
  std::vector<TopologyCpu> found;
  std::set<std::string> seen;
  for (const TopologyCpu& cpu : cpus) {
    if (!wanted.empty() && !holds(wanted, cpu.node)) continue;
    if (cpu.core.empty() || seen.insert(cpu.core).second) found.push_back(cpu);
  }
  return found;
}

Topology read_topology(const std::vector<int>& allowed, const std::string& root) {
  Topology topology;
  const std::string system = root + "/devices/system";
  topology.nodes = read_list(system + "/node/online");
  std::vector<std::vector<int>> cpus_of;
  for (const int node : topology.nodes) {
    cpus_of.push_back(read_list(system + "/node/node" + std::to_string(node) + "/cpulist"));
  }
  if (topology.nodes.empty()) topology.nodes = {0};
  for (const int cpu : allowed) {
    const std::string folder = system + "/cpu/cpu" + std::to_string(cpu);
    TopologyCpu entry{cpu, 0, read_line(folder + "/topology/thread_siblings_list"),
                      cache_of(folder)};
    for (size_t i = 0; i < cpus_of.size(); ++i) {
      if (holds(cpus_of[i], cpu)) entry.node = topology.nodes[i];
    }
    topology.cpus.push_back(std::move(entry));
  }
  return topology;
}

Topology this_topology() { return read_topology(allowed_cpus()); }

std::optional<uint64_t> node_available_bytes(int node, const std::string& root) {
  std::ifstream file(root + "/devices/system/node/node" + std::to_string(node) + "/meminfo");
  std::string line;
  std::optional<uint64_t> bytes;
  while (std::getline(file, line)) {
    // "Node 0 MemFree:        12345 kB"
    std::istringstream text(line);
    std::string word, name;
    uint64_t number = 0, kib = 0;
    if (!(text >> word >> number >> name >> kib)) continue;
    if (name == "MemFree:" || name == "Active(file):" || name == "Inactive(file):") {
      bytes = bytes.value_or(0) + kib * 1024;
    }
  }
  return bytes;
}

std::vector<int> allowed_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {0};
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> allowed_core_cpus() {
  std::vector<int> cpus;
  for (const TopologyCpu& core : this_topology().cores()) cpus.push_back(core.cpu);
  return cpus;
}

int quota_cores() { return cgroup_quota_cores(); }

int usable_cores() {
  const int cores = std::max(1, static_cast<int>(allowed_core_cpus().size()));
  const int quota = quota_cores();
  return quota > 0 ? std::min(cores, quota) : cores;
}

}  // namespace rota
