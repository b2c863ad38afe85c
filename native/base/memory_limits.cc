// Memory that is there.
#include "base/memory_limits.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace rota {
namespace {

constexpr int kCapIpcLock = 14;  // its bit in CapEff: locks without a limit

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The number after `name` at the beginning of a line, the first that is one: no sign, and it fits.
std::optional<uint64_t> field(std::string_view text, std::string_view name, int base = 10) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with(name)) continue;
    std::string_view rest = line.substr(name.size());
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \t")));
    uint64_t value = 0;
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
    if (read.ec == std::errc()) return value;
  }
  return std::nullopt;
}

// Of a file that holds one; absent, or "max": none.
std::optional<uint64_t> read_number(const std::string& path) { return field(slurp(path), ""); }

void lower(MemoryAvailable& available, uint64_t bytes, const std::string& limit) {
  if (bytes < available.bytes) {
    available.bytes = bytes;
    available.limit = limit;
  }
}

// The names of one version of the memory controller.
struct GroupFiles {
  std::vector<const char*> limits;
  const char* usage;
  std::vector<const char*> reclaimable;  // fields of memory.stat
};
const GroupFiles kVersion2 = {{"memory.max", "memory.high"},
                              "memory.current",
                              {"inactive_file ", "active_file ", "slab_reclaimable "}};
const GroupFiles kVersion1 = {{"memory.limit_in_bytes"},
                              "memory.usage_in_bytes",
                              {"total_inactive_file ", "total_active_file "}};

// As the kernel's own MemAvailable: page cache and reclaimable slabs are given back when asked for.
void lower_by_group(const std::string& folder, const GroupFiles& files,
                    MemoryAvailable& available) {
  const auto usage = read_number(folder + "/" + files.usage);
  if (!usage) return;
  const std::string stat = slurp(folder + "/memory.stat");
  uint64_t held = *usage;
  for (const char* name : files.reclaimable) held -= std::min(held, field(stat, name).value_or(0));
  for (const char* name : files.limits) {
    const std::string file = folder + "/" + name;
    const auto limit = read_number(file);
    if (!limit) continue;
    lower(available, *limit > held ? *limit - held : 0,
          "the memory limit of its control group (" + file + ")");
  }
}

// A limit of any ancestor counts.
void lower_by_groups(const MemorySources& sources, MemoryAvailable& available) {
  std::istringstream lines(slurp(sources.root + "/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && ("," + controllers + ",").find(",memory,") == std::string::npos) continue;
    const std::string mount = sources.root + "/sys/fs/cgroup" + (unified ? "" : "/memory");
    for (std::string group = line.substr(second + 1);; group.resize(group.rfind('/'))) {
      if (group == "/") group.clear();
      lower_by_group(mount + group, unified ? kVersion2 : kVersion1, available);
      if (group.empty() || group.rfind('/') == std::string::npos) break;
    }
  }
}

}  // namespace

namespace memory_internal {

uint64_t parse_mem_available(const std::string& meminfo) {
  const auto kib = field(meminfo, "MemAvailable:");
  return kib && *kib <= UINT64_MAX / 1024 ? *kib * 1024 : UINT64_MAX;
}

uint64_t parse_limit(const std::string& limits, const std::string& name) {
  return field(limits, name).value_or(UINT64_MAX);
}

}  // namespace memory_internal

MemoryAvailable memory_available(const MemorySources& sources) {
  const std::string meminfo = sources.root + "/proc/meminfo";
  MemoryAvailable available;
  lower(available, sources.assumed.value_or(memory_internal::parse_mem_available(slurp(meminfo))),
        sources.assumed ? "--assume-memory" : "MemAvailable (" + meminfo + ")");
  lower_by_groups(sources, available);
  const std::string limits_file = sources.root + "/proc/self/limits";
  const std::string limits = slurp(limits_file), status = slurp(sources.root + "/proc/self/status");
  const uint64_t space = memory_internal::parse_limit(limits, "Max address space");
  if (space != UINT64_MAX) {
    const uint64_t taken = field(status, "VmSize:").value_or(0) * 1024;
    lower(available, space > taken ? space - taken : 0,
          "the limit of its address space (" + limits_file + ")");
  }
  const uint64_t capabilities = field(status, "CapEff:", 16).value_or(0);
  if ((capabilities >> kCapIpcLock & 1u) == 0) {
    available.lockable = memory_internal::parse_limit(limits, "Max locked memory");
  }
  return available;
}

}  // namespace rota
