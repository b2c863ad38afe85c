// How the memory that this process is going to take lies: on which nodes, and on huge pages or not.
// Set before a load, for the whole process, because the kernel's own policy is: threads started
// later inherit it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace rota {

// kBind: only on the nodes. kInterleave: page by page over the nodes in turn. kLocal: on the node
// of the thread that touches a page first. kOff: as the system does it.
enum class NumaMemory { kOff, kBind, kInterleave, kLocal };

Result<NumaMemory> parse_numa_memory(const std::string& text);
const char* numa_memory_name(NumaMemory memory);

// For the calling thread and those it starts from now on. nodes are needed by kBind and kInterleave
// (kUsage without). kLoad: the system refuses, with its reason.
Status set_numa_memory(NumaMemory memory, const std::vector<int>& nodes);
// Whether the last of these calls bound or interleaved.
bool numa_memory_is_bound();

// Whether buffers that want huge pages ask for them (the default); otherwise they ask for none,
// whatever the system's own setting.
void set_huge_pages(bool wanted);
bool huge_pages_wanted();

// Bytes of [data, data + bytes) by the node they lie on, from the node of one page in each piece;
// untouched memory lies nowhere. Empty where the system does not say.
std::map<int, uint64_t> bytes_by_node(const void* data, size_t bytes);

namespace memory_placement_internal {
// What set_mempolicy(2) is asked for: its mode and the nodes as bits, 64 a word.
struct Policy {
  int mode = 0;
  std::vector<unsigned long> nodes;
};
Result<Policy> policy_of(NumaMemory memory, const std::vector<int>& nodes);
// Sums what move_pages(2) answered for pages that stand for `piece` bytes each, the last for less.
std::map<int, uint64_t> sum_nodes(const std::vector<int>& status, size_t bytes, size_t piece);
}  // namespace memory_placement_internal

}  // namespace rota
