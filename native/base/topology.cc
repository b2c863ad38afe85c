// Affinity mask, sysfs siblings and the cgroup v2 CPU quota.
#include "base/topology.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>

namespace rota {
namespace {

// The kernel's list of a core's hardware threads ("0,64"): equal text means the same core. Empty
// where sysfs is absent.
std::string sibling_list(int cpu) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                     "/topology/thread_siblings_list");
  std::string text;
  std::getline(file, text);
  return text;
}

std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
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
  return static_cast<int>((quota + period - 1) / period);
}

}  // namespace topology_internal

std::vector<int> allowed_core_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {0};
  std::set<std::string> seen;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string siblings = sibling_list(cpu);
    if (siblings.empty() || seen.insert(siblings).second) cpus.push_back(cpu);
  }
  return cpus;
}

int usable_cores() {
  const int cores = std::max(1, static_cast<int>(allowed_core_cpus().size()));
  const int quota = cgroup_quota_cores();
  return quota > 0 ? std::min(cores, quota) : cores;
}

}  // namespace rota
