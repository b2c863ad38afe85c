// set_mempolicy and move_pages by their numbers: no library is needed for two system calls.
#include "base/memory_placement.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace rota {
namespace {

// <linux/mempolicy.h>
constexpr int kModeDefault = 0, kModeBind = 2, kModeInterleave = 3, kModeLocal = 4;
constexpr size_t kBits = 8 * sizeof(unsigned long);

constexpr size_t kSmallPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;
// Memory above this is looked at once a huge page: a question costs about a microsecond.
constexpr size_t kSmallMemory = size_t{64} << 20;

std::atomic<bool> g_huge_pages{true}, g_bound{false};

}  // namespace

Result<NumaMemory> parse_numa_memory(const std::string& text) {
  for (const NumaMemory memory :
       {NumaMemory::kOff, NumaMemory::kBind, NumaMemory::kInterleave, NumaMemory::kLocal}) {
    if (text == numa_memory_name(memory)) return memory;
  }
  return Status(Code::kUsage, "\"" + text + "\" is none of bind, interleave, local and off");
}

const char* numa_memory_name(NumaMemory memory) {
  switch (memory) {
    case NumaMemory::kOff:
      return "off";
    case NumaMemory::kBind:
      return "bind";
    case NumaMemory::kInterleave:
      return "interleave";
    case NumaMemory::kLocal:
      return "local";
  }
  return "?";
}

namespace memory_placement_internal {

Result<Policy> policy_of(NumaMemory memory, const std::vector<int>& nodes) {
  Policy policy;
  if (memory == NumaMemory::kOff) return Policy{kModeDefault, {}};
  if (memory == NumaMemory::kLocal) return Policy{kModeLocal, {}};
  policy.mode = memory == NumaMemory::kBind ? kModeBind : kModeInterleave;
  if (nodes.empty()) {
    return Status(Code::kUsage, std::string("--numa-memory ") + numa_memory_name(memory) +
                                    " needs nodes: --numa LIST");
  }
  for (const int node : nodes) {
    const auto word = static_cast<size_t>(node) / kBits;
    policy.nodes.resize(std::max(policy.nodes.size(), word + 1));
    policy.nodes[word] |= 1ul << (static_cast<size_t>(node) % kBits);
  }
  return policy;
}

std::map<int, uint64_t> sum_nodes(const std::vector<int>& status, size_t bytes, size_t piece) {
  std::map<int, uint64_t> sums;
  for (size_t i = 0; i < status.size(); ++i) {
    if (status[i] < 0) continue;  // no page, or none that may be asked about
    sums[status[i]] += std::min(piece, bytes - i * piece);
  }
  return sums;
}

}  // namespace memory_placement_internal

Status set_numa_memory(NumaMemory memory, const std::vector<int>& nodes) {
  ROTA_ASSIGN_OR_RETURN(const auto policy, memory_placement_internal::policy_of(memory, nodes));
  // The kernel reads one bit less than it is told of.
  const unsigned long bits = policy.nodes.empty() ? 0 : policy.nodes.size() * kBits + 1;
  if (syscall(SYS_set_mempolicy, policy.mode, policy.nodes.empty() ? nullptr : policy.nodes.data(),
              bits) == 0) {
    g_bound.store(memory == NumaMemory::kBind || memory == NumaMemory::kInterleave,
                  std::memory_order_relaxed);
    return Status();
  }
  if (memory == NumaMemory::kOff) return Status();  // a system without policies has none to undo
  return Status(Code::kLoad, std::string("--numa-memory ") + numa_memory_name(memory) +
                                 ": the system refuses (set_mempolicy: " + std::strerror(errno) +
                                 "); leave it off");
}

bool numa_memory_is_bound() { return g_bound.load(std::memory_order_relaxed); }

void set_huge_pages(bool wanted) { g_huge_pages.store(wanted, std::memory_order_relaxed); }
bool huge_pages_wanted() { return g_huge_pages.load(std::memory_order_relaxed); }

std::map<int, uint64_t> bytes_by_node(const void* data, size_t bytes) {
  if (bytes == 0) return {};
  const size_t piece = bytes > kSmallMemory ? kHugePage : kSmallPage;
  std::vector<void*> pages;
  for (size_t at = 0; at < bytes; at += piece) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(data) + at;
    pages.push_back(reinterpret_cast<void*>(address / kSmallPage * kSmallPage));
  }
  std::vector<int> status(pages.size(), -1);
  // Without target nodes it only tells where the pages are.
  if (syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, status.data(), 0) != 0) {
    return {};
  }
  return memory_placement_internal::sum_nodes(status, bytes, piece);
}

}  // namespace rota
