// Memory that is there, memory that is asked.
#include "engines/memory_guard.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "engines/size_value.h"

namespace rota {
namespace {

// Left for the program itself, its stacks and its JSON.
constexpr uint64_t kReserve = uint64_t{64} << 20;

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::optional<uint64_t> read_number(const std::string& path) {
  std::istringstream text(slurp(path));
  uint64_t value = 0;
  if (!(text >> value)) return std::nullopt;  // absent, or "max"
  return value;
}

uint64_t headroom_of(const std::string& folder, const char* limit_name, const char* usage_name) {
  const auto limit = read_number(folder + "/" + limit_name);
  const auto usage = read_number(folder + "/" + usage_name);
  if (!limit || !usage) return UINT64_MAX;
  return *limit > *usage ? *limit - *usage : 0;
}

}  // namespace

namespace memory_internal {

uint64_t parse_mem_available(const std::string& meminfo) {
  const std::string name = "MemAvailable:";
  const size_t at = meminfo.find(name);
  if (at == std::string::npos) return UINT64_MAX;
  std::istringstream text(meminfo.substr(at + name.size()));
  uint64_t kib = 0;
  return text >> kib ? kib * 1024 : UINT64_MAX;
}

uint64_t cgroup_headroom(const std::string& self_cgroup, const std::string& root) {
  uint64_t headroom = UINT64_MAX;
  std::istringstream lines(self_cgroup);
  std::string line;
  while (std::getline(lines, line)) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && ("," + controllers + ",").find(",memory,") == std::string::npos) continue;
    // A limit of any ancestor counts.
    for (std::string group = line.substr(second + 1);; group.resize(group.rfind('/'))) {
      if (group == "/") group.clear();
      headroom = std::min(headroom,
                          unified ? headroom_of(root + group, "memory.max", "memory.current")
                                  : headroom_of(root + "/memory" + group, "memory.limit_in_bytes",
                                                "memory.usage_in_bytes"));
      if (group.empty() || group.rfind('/') == std::string::npos) break;
    }
  }
  return headroom;
}

}  // namespace memory_internal

MemoryAvailable memory_available() {
  MemoryAvailable available{memory_internal::parse_mem_available(slurp("/proc/meminfo")),
                            "MemAvailable"};
  const uint64_t group =
      memory_internal::cgroup_headroom(slurp("/proc/self/cgroup"), "/sys/fs/cgroup");
  if (group < available.bytes) available = {group, "the memory limit of its control group"};
  return available;
}

Status check_memory(const std::vector<MemoryNeed>& needs, const MemoryAvailable& available) {
  uint64_t total = 0;
  const MemoryNeed* largest = nullptr;
  std::string parts;
  for (const MemoryNeed& need : needs) {
    total += need.bytes;
    if (need.bytes > 0) {
      parts += (parts.empty() ? "" : ", ") + std::string(need.what) + " " + format_size(need.bytes);
    }
    if (need.knob != nullptr && (largest == nullptr || need.bytes > largest->bytes)) {
      largest = &need;
    }
  }
  const uint64_t usable = available.bytes > kReserve ? available.bytes - kReserve : 0;
  if (total <= usable) return Status();
  std::string message = "out of memory: asked " + format_size(total) + " (" + parts +
                        "), available " + format_size(available.bytes) + " by " + available.limit;
  const uint64_t excess = total - usable;
  if (largest != nullptr && largest->bytes > 0) {
    message += std::string("; lower ") + largest->knob;
    if (largest->bytes > excess) message += " by " + format_size(excess) + " or more";
  }
  return Status(Code::kOutOfMemory, message);
}

}  // namespace rota
