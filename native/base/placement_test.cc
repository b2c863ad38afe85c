// A machine of two nodes from a folder: lists, cores, who runs where; what the kernel is asked for
// memory; and that this process's own threads and pages are where it says.
#include <doctest/doctest.h>
#include <pthread.h>
#include <sched.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/cpu_list.h"
#include "base/memory_placement.h"
#include "base/page_use.h"
#include "base/temp_dir.h"
#include "base/thread_plan.h"
#include "base/thread_pool.h"

namespace rota {
namespace {

using Lists = std::vector<std::vector<int>>;

// Two nodes of four cores with two threads each: CPUs 0-3 and 8-11 on node 0, 4-7 and 12-15 on
// node 1; node 0 has two caches.
class TwoNodes {
 public:
  TwoNodes() {
    write("devices/system/node/online", "0-1");
    write("devices/system/node/node0/cpulist", "0-3,8-11");
    write("devices/system/node/node1/cpulist", "4-7,12-15");
    write("devices/system/node/node1/meminfo",
          "Node 1 MemTotal:       4000 kB\nNode 1 MemFree:        1000 kB\n"
          "Node 1 Active(file):   200 kB\nNode 1 Inactive(file): 30 kB\n");
    for (int core = 0; core < 8; ++core) {
      const std::string siblings = std::to_string(core) + "," + std::to_string(core + 8);
      const char* const cache = core < 2 ? "0-1,8-9" : core < 4 ? "2-3,10-11" : "4-7,12-15";
      for (const int cpu : {core, core + 8}) {
        const std::string folder = "devices/system/cpu/cpu" + std::to_string(cpu);
        write(folder + "/topology/thread_siblings_list", siblings);
        write(folder + "/cache/index0/shared_cpu_list", siblings);
        write(folder + "/cache/index3/shared_cpu_list", cache);
      }
    }
  }
  Topology topology(const std::string& allowed = "0-15") const {
    return read_topology(parse_cpu_list(allowed).value(), root());
  }
  std::string root() const { return dir_ / "."; }

 private:
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = dir_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  TempDir dir_;
};

Lists plan(const Topology& topology, const std::string& affinity, const std::vector<int>& nodes,
           int threads, int quota = 0) {
  auto made = plan_threads(topology, parse_affinity(affinity).value(), nodes, threads, quota);
  REQUIRE(made.ok());
  return made->cpus;
}

std::string refusal(const Topology& topology, const std::string& affinity,
                    const std::vector<int>& nodes, int threads) {
  const auto made = plan_threads(topology, parse_affinity(affinity).value(), nodes, threads, 0);
  CHECK(made.status().code() == Code::kUsage);
  return made.status().message();
}

TEST_CASE("lists of CPUs") {
  CHECK(parse_cpu_list("0-3,8").value() == std::vector<int>{0, 1, 2, 3, 8});
  CHECK(parse_cpu_list("8,1,1").value() == std::vector<int>{1, 8});
  CHECK(parse_ordered_cpu_list("8,1,1").value() == std::vector<int>{8, 1});
  // Eight million places, nearly all of them listed before.
  std::string all = "0-4095";
  for (int i = 0; i < 2000; ++i) all += ",0-4095";
  CHECK(parse_ordered_cpu_list(all).value().size() == 4096);
  CHECK(format_cpu_list({0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10-11");
  CHECK(format_cpu_list({}) == "");
  for (const char* const bad : {"", "a", "1-", "3-1", "1,,2", "1,", "-1", "0-3x", "99999"}) {
    CAPTURE(bad);
    CHECK(!parse_cpu_list(bad).ok());
  }
  CHECK(parse_cpu_list("1-").status().message() == "\"1-\" is no list of numbers such as 0-3,8");
}

TEST_CASE("a machine of two nodes is read") {
  const TwoNodes machine;
  const Topology all = machine.topology();
  CHECK(all.nodes == std::vector<int>{0, 1});
  REQUIRE(all.cpus.size() == 16);
  CHECK(all.cpus[12].node == 1);
  CHECK(all.cores().size() == 8);
  CHECK(all.cores({1}).front().cpu == 4);
  // A core of which only the second thread is allowed counts as well.
  CHECK(machine.topology("9-10").cores().front().cpu == 9);
  CHECK(node_available_bytes(1, machine.root()) == 1230 * 1024);
  CHECK(!node_available_bytes(7, machine.root()));
  const Topology bare = read_topology({0, 1}, machine.root() + "/none");
  CHECK(bare.nodes == std::vector<int>{0});
  CHECK(bare.cores().size() == 2);
}

TEST_CASE("affinity puts threads on cores") {
  const TwoNodes machine;
  const Topology all = machine.topology();
  CHECK(plan(all, "cores", {}, 3) == Lists{{0}, {1}, {2}});
  CHECK(plan(all, "cores", {}, 0).size() == 8);
  CHECK(plan(all, "cores", {}, 0, 5).size() == 5);
  CHECK(plan(all, "cores", {1}, 0) == Lists{{4}, {5}, {6}, {7}});
  // Over the three caches in turn, then the next core of each.
  CHECK(plan(all, "spread", {}, 5) == Lists{{0}, {2}, {4}, {1}, {3}});
  CHECK(plan(all, "spread", {0}, 3) == Lists{{0}, {2}, {1}});
  CHECK(plan(all, "none", {}, 3) == Lists{{}, {}, {}});
  CHECK(plan(all, "12,3", {}, 0) == Lists{{12}, {3}});
  CHECK(plan(all, "12,3", {}, 1) == Lists{{12}});
  CHECK(plan(all, "12,3", {}, 0, 1) == Lists{{12}, {3}});  // who names CPUs means them
}

TEST_CASE("threads without a core each stay on their nodes") {
  const TwoNodes machine;
  const Topology all = machine.topology();
  const std::vector<int> second = {4, 5, 6, 7, 12, 13, 14, 15};
  CHECK(plan(all, "none", {1}, 2) == Lists{second, second});
  CHECK(plan(all, "cores", {1}, 5) == Lists(5, second));
  CHECK(plan(all, "cores", {}, 9) == Lists(9));
}

TEST_CASE("nodes and CPUs that are not there are refused in a line") {
  const TwoNodes machine;
  const Topology all = machine.topology();
  CHECK(refusal(all, "cores", {2}, 0) == "--numa 2: this machine has no node 2; it has 0-1");
  CHECK(refusal(machine.topology("0-3"), "cores", {0, 1}, 0) ==
        "--numa 0-1: none of the CPUs that this process may use (0-3) is on node 1");
  CHECK(refusal(all, "3,20", {}, 0) ==
        "--affinity 3,20: CPU 20 is none that this process may use (0-15)");
  CHECK(refusal(all, "3", {1}, 0) ==
        "--affinity 3: CPU 3 is on none of the nodes of --numa (CPUs 4-7,12-15)");
  CHECK(refusal(all, "0-1", {}, 3) ==
        "--affinity 0-1: 2 CPUs for 3 threads; name more, or lower --threads");
  CHECK(parse_affinity("core").status().message() ==
        "\"core\" is none of cores, spread, none and a list of CPUs such as 0-3,8");
}

TEST_CASE("what the kernel is asked for memory") {
  using memory_placement_internal::policy_of;
  CHECK(policy_of(NumaMemory::kBind, {0, 1})->mode == 2);
  CHECK(policy_of(NumaMemory::kBind, {0, 2})->nodes == std::vector<unsigned long>{5});
  CHECK(policy_of(NumaMemory::kInterleave, {64})->mode == 3);
  CHECK(policy_of(NumaMemory::kInterleave, {64})->nodes == std::vector<unsigned long>{0, 1});
  CHECK(policy_of(NumaMemory::kLocal, {})->mode == 4);
  CHECK(policy_of(NumaMemory::kOff, {1})->mode == 0);
  CHECK(policy_of(NumaMemory::kBind, {}).status().message() ==
        "--numa-memory bind needs nodes: --numa LIST");
  CHECK(parse_numa_memory("interleave").value() == NumaMemory::kInterleave);
  CHECK(parse_numa_memory("near").status().message() ==
        "\"near\" is none of bind, interleave, local and off");
  // Pieces of 10 bytes, the last of 5; one is not there.
  CHECK(memory_placement_internal::sum_nodes({0, 1, -2, 1}, 35, 10) ==
        std::map<int, uint64_t>{{0, 10}, {1, 15}});
}

TEST_CASE("threads are where they were put, the caller only when it asks") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof(before), &before) == 0);
  const std::vector<int> all = allowed_cpus();
  ThreadPoolOptions options;
  options.cpus = {{all.front()}, {all.back()}, {}};
  ThreadPool pool(options);
  CHECK(pool.threads() == 3);
  CHECK(pool.placed_cpus() == Lists{all, {all.back()}, all});
  pool.place_caller();
  CHECK(pool.placed_cpus() == Lists{{all.front()}, {all.back()}, all});
  pool.release_caller();
  CHECK(pool.placed_cpus() == Lists{all, {all.back()}, all});
  REQUIRE(sched_setaffinity(0, sizeof(before), &before) == 0);
}

TEST_CASE("buffers lie on nodes, and on huge pages only if they are wanted") {
  constexpr size_t kBytes = size_t{32} << 20;
  const auto huge_bytes = [](bool wanted) {
    set_huge_pages(wanted);
    auto buffer = AlignedBuffer::allocate(kBytes, AlignedBuffer::kPage, true);
    set_huge_pages(true);
    REQUIRE(buffer.ok());
    std::memset(buffer->data(), 1, buffer->size());
    uint64_t lies = 0;
    for (const auto& [node, bytes] : bytes_by_node(buffer->data(), kBytes)) lies += bytes;
    CHECK((lies == 0 || lies == kBytes));
    return page_use(buffer->data(), buffer->size()).huge_bytes;
  };
  CHECK(huge_bytes(false) == 0);
  const uint64_t most = huge_bytes(true);
  MESSAGE(most << " of " << kBytes << " bytes on huge pages");
  CHECK(most <= kBytes + (size_t{2} << 20));
}

TEST_CASE("a policy is set and taken back") {
  const std::vector<int> nodes = this_topology().nodes;
  const Status bound = set_numa_memory(NumaMemory::kBind, {nodes.front()});
  if (!bound.ok()) {
    MESSAGE("waived: " << bound.message());
    return;
  }
  CHECK(numa_memory_is_bound());
  CHECK(set_numa_memory(NumaMemory::kOff, {}).ok());
  CHECK(!numa_memory_is_bound());
  CHECK(set_numa_memory(NumaMemory::kBind, {4000}).code() == Code::kLoad);
}

}  // namespace
}  // namespace rota
