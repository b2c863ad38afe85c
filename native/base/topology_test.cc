// The affinity mask and the quota text decide how many threads start.
#include "base/topology.h"

#include <doctest/doctest.h>
#include <sched.h>

#include <algorithm>
#include <climits>

namespace rota {
namespace {

TEST_CASE("cgroup quota text") {
  CHECK(topology_internal::quota_cores("max 100000") == 0);
  CHECK(topology_internal::quota_cores("150000 100000") == 2);
  CHECK(topology_internal::quota_cores("200000 100000") == 2);
  CHECK(topology_internal::quota_cores("50000 100000") == 1);
  CHECK(topology_internal::quota_cores("") == 0);
  CHECK(topology_internal::quota_cores("-1 100000") == 0);
  CHECK(topology_internal::quota_cores("100000") == 0);
  // No sum of the two numbers may leave their type, and no quota an int.
  CHECK(topology_internal::quota_cores("9223372036854775807 9223372036854775807") == 1);
  CHECK(topology_internal::quota_cores("9223372036854775807 1") == INT_MAX);
  CHECK(topology_internal::quota_cores("1 9223372036854775807") == 1);
}

TEST_CASE("only allowed CPUs are listed") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof(before), &before) == 0);
  const std::vector<int> cpus = allowed_core_cpus();
  REQUIRE(!cpus.empty());
  CHECK(std::is_sorted(cpus.begin(), cpus.end()));
  for (const int cpu : cpus) CHECK(CPU_ISSET(cpu, &before));
  CHECK(usable_cores() <= static_cast<int>(cpus.size()));

  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpus.back(), &one);
  REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
  CHECK(allowed_core_cpus() == std::vector<int>{cpus.back()});
  CHECK(usable_cores() == 1);
  REQUIRE(sched_setaffinity(0, sizeof(before), &before) == 0);
}

}  // namespace
}  // namespace rota
