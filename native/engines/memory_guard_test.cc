// What memory is there, by files that say so, and the refusal of more than that.
#include "engines/memory_guard.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "base/temp_dir.h"
#include "engines/strata/slots_budget.h"

namespace rota {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20, kGiB = uint64_t{1} << 30;

// A machine of 8 GiB free, whose /proc and /sys are files of a folder.
struct FakeMachine {
  TempDir root;
  FakeMachine() {
    write("proc/meminfo", "MemTotal:  9999999 kB\nMemAvailable:  8388608 kB\n");
    write("proc/self/status", "VmSize:\t  1048576 kB\nCapEff:\t0000000000000000\n");
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root / name).parent_path());
    root.write(name, text);
  }
  MemoryAvailable available(std::optional<uint64_t> assumed = std::nullopt) const {
    std::string folder = root / "";
    folder.pop_back();
    return memory_available({folder, assumed});
  }
  std::string in(const std::string& name) const { return "(" + (root / name) + ")"; }
};

TEST_CASE("without limits it is MemAvailable, or what is assumed") {
  const FakeMachine machine;
  CHECK(machine.available().bytes == 8 * kGiB);
  CHECK(machine.available().limit == "MemAvailable " + machine.in("proc/meminfo"));
  CHECK(machine.available(128 * kGiB).bytes == 128 * kGiB);
  CHECK(machine.available(128 * kGiB).limit == "--assume-memory");
  CHECK(memory_internal::parse_mem_available("MemTotal: 9 kB\n") == UINT64_MAX);
  CHECK(memory_internal::parse_mem_available("MemAvailable: 18014398509481984 kB\n") == UINT64_MAX);
  CHECK(memory_internal::parse_mem_available("MemAvailable: -1 kB\n") == UINT64_MAX);
  CHECK(memory_internal::parse_mem_available("MemAvailable: ? kB\nMemAvailable:\t3 kB") == 3072);
  CHECK(memory_available().bytes > 0);
}

TEST_CASE("version 2: memory.max and memory.high of every ancestor, page cache counted as free") {
  const FakeMachine machine;
  machine.write("proc/self/cgroup", "0::/a/b\n");
  machine.write("sys/fs/cgroup/a/memory.max", "4294967296\n");
  machine.write("sys/fs/cgroup/a/memory.current", "2147483648\n");
  machine.write("sys/fs/cgroup/a/b/memory.max", "max\n");
  machine.write("sys/fs/cgroup/a/b/memory.current", "1073741824\n");
  CHECK(machine.available().bytes == 2 * kGiB);
  CHECK(machine.available().limit ==
        "the memory limit of its control group " + machine.in("sys/fs/cgroup/a/memory.max"));
  machine.write("sys/fs/cgroup/a/memory.stat",
                "anon 1\ninactive_file 524288000\nactive_file 20971520\nslab_reclaimable 4096\n"
                "workingset_activate_file 7\n");
  CHECK(machine.available().bytes == 2 * kGiB + 520 * kMiB + 4096);
  // More than is used is no credit.
  machine.write("sys/fs/cgroup/a/memory.stat", "inactive_file 9999999999\n");
  CHECK(machine.available().bytes == 4 * kGiB);
  machine.write("sys/fs/cgroup/a/b/memory.high", "1610612736\n");
  CHECK(machine.available().bytes == 512 * kMiB);
  CHECK(machine.available().limit ==
        "the memory limit of its control group " + machine.in("sys/fs/cgroup/a/b/memory.high"));
  machine.write("sys/fs/cgroup/a/b/memory.high", "1000\n");
  CHECK(machine.available().bytes == 0);
  CHECK(machine.available(128 * kGiB).bytes == 0);  // a limit holds whatever is assumed
}

TEST_CASE("version 1: the memory controller, and the mount's own limit inside a container") {
  const FakeMachine machine;
  machine.write("proc/self/cgroup", "5:cpu,memory:/x\n3:cpuset:/y\nnonsense\n");
  CHECK(machine.available().bytes == 8 * kGiB);
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "3221225472\n");
  machine.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1073741824\n");
  CHECK(machine.available().bytes == 2 * kGiB);
  machine.write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1073741824\n");
  machine.write("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "1073741824\n");
  machine.write("sys/fs/cgroup/memory/x/memory.stat",
                "inactive_file 1\ntotal_inactive_file 1048576\ntotal_active_file 1048576\n");
  CHECK(machine.available().bytes == 2 * kMiB);
  machine.write("proc/self/cgroup", "3:cpuset:/x\n");
  CHECK(machine.available().bytes == 8 * kGiB);
}

TEST_CASE("the process's own limits: address space that is left, memory that may be locked") {
  const FakeMachine machine;
  machine.write("proc/self/limits",
                "Limit                     Soft Limit           Hard Limit           Units\n"
                "Max locked memory         8388608              8388608              bytes\n"
                "Max address space         unlimited            unlimited            bytes\n");
  CHECK(machine.available().bytes == 8 * kGiB);
  CHECK(machine.available().lockable == 8 * kMiB);
  machine.write("proc/self/limits",
                "Max locked memory         unlimited            unlimited            bytes\n"
                "Max address space         2147483648           unlimited            bytes\n");
  CHECK(machine.available().bytes == kGiB);  // 1 GiB of 2 is taken
  CHECK(machine.available().limit ==
        "the limit of its address space " + machine.in("proc/self/limits"));
  CHECK(machine.available().lockable == UINT64_MAX);
  machine.write("proc/self/limits", "Max locked memory         65536    65536    bytes\n");
  machine.write("proc/self/status", "VmSize: 1 kB\nCapEff:\t0000000000004000\n");
  CHECK(machine.available().lockable == UINT64_MAX);  // may lock without a limit
}

TEST_CASE("a refusal names the parts, the limit and the largest part's knob") {
  const std::vector<MemoryNeed> needs = {
      {"slots", "--slots", 2 * kGiB}, {"arena", "--arena", 6 * kGiB}, {"dense", nullptr, 9 * kGiB}};
  const auto check = [&needs](uint64_t bytes) {
    return check_memory(needs, {bytes, "MemAvailable (/proc/meminfo)"});
  };
  CHECK(check(20 * kGiB).ok());
  CHECK(check(17 * kGiB + kProgramBytes).ok());
  CHECK(!check(17 * kGiB + kProgramBytes - 1).ok());
  CHECK(check(15 * kGiB).code() == Code::kOutOfMemory);
  CHECK(
      check(15 * kGiB).message() ==
      "out of memory: asked 17.00 GiB (slots 2.00 GiB, arena 6.00 GiB, dense 9.00 GiB), available "
      "15.00 GiB by MemAvailable (/proc/meminfo); lower --arena by 2.06 GiB or more");
  CHECK(check(kGiB).message().find("; lower --arena") != std::string::npos);
}

TEST_CASE("slots auto is what is free less everything else, and the arena's RAM is the same RAM") {
  SlotsBudget b;
  b.available = 20 * kGiB;
  b.limit = "MemAvailable (/proc/meminfo)";
  b.program = kProgramBytes;
  b.dense = 3 * kGiB;
  b.draft = kGiB;
  b.kv = 2 * kGiB;
  b.scratch = kGiB;
  b.margin = kGiB;
  b.experts = 100 * kGiB;
  b.arena = 4 * kGiB;
  CHECK(b.rest() == 12 * kGiB - kProgramBytes);
  CHECK(b.slots() == 8 * kGiB - kProgramBytes);
  CHECK(b.line() ==
        "slots auto: 20.00 GiB free by MemAvailable (/proc/meminfo) - program 64.0 MiB - dense "
        "3.00 GiB - draft experts 1.00 GiB - KV 2.00 GiB - scratch 1.00 GiB - margin 1.00 GiB - "
        "arena 4.00 GiB = 7.94 GiB of expert slots");
  b.kv += kGiB;
  CHECK(b.slots() == 7 * kGiB - kProgramBytes);
  b.arena = 100 * kGiB;
  CHECK(b.slots() == 0);
  b.experts = 10 * kGiB;  // all of them fit
  CHECK(b.slots() == 10 * kGiB);
  CHECK(b.line().ends_with("margin 1.00 GiB = 10.94 GiB, enough for all experts"));
  b.available = kGiB;
  CHECK(b.slots() == 0);
}

}  // namespace
}  // namespace rota
