// Which CPUs this process may use, one entry a physical core. Reads affinity, sysfs and cgroup;
// starts no thread.
#pragma once

#include <string>
#include <vector>

namespace rota {

// One allowed logical CPU of each physical core, ascending: the affinity mask without its
// hyper-thread siblings.
std::vector<int> allowed_core_cpus();

// Threads worth starting: physical cores, lowered to the cgroup's CPU quota (rounded up) where one
// is set. At least 1.
int usable_cores();

namespace topology_internal {
// "max 100000" -> 0 (no quota); "150000 100000" -> 2. Malformed text is no quota.
int quota_cores(const std::string& cpu_max);
}  // namespace topology_internal

}  // namespace rota
