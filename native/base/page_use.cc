// Entries of /proc/self/smaps.
#include "base/page_use.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace rota {
namespace page_use_internal {

PageUse parse_smaps(const std::string& smaps, uint64_t begin, uint64_t end) {
  PageUse use;
  double inside = 0;  // share of the current mapping
  const auto add = [&inside](uint64_t& sum, uint64_t kib) {
    sum += static_cast<uint64_t>(inside * static_cast<double>(kib) * 1024 + 0.5);
  };
  std::istringstream text(smaps);
  std::string line;
  while (std::getline(text, line)) {
    unsigned long long from = 0, to = 0, kib = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &from, &to) == 2 && to > from) {
      const uint64_t low = std::max<uint64_t>(from, begin), high = std::min<uint64_t>(to, end);
      inside = high > low ? static_cast<double>(high - low) / static_cast<double>(to - from) : 0;
    } else if (std::sscanf(line.c_str(), "Rss: %llu kB", &kib) == 1) {
      add(use.resident_bytes, kib);
    } else if (std::sscanf(line.c_str(), "AnonHugePages: %llu kB", &kib) == 1) {
      add(use.huge_bytes, kib);
    } else if (std::sscanf(line.c_str(), "ShmemPmdMapped: %llu kB", &kib) == 1) {
      add(use.huge_bytes, kib);
    } else if (std::sscanf(line.c_str(), "Private_Hugetlb: %llu kB", &kib) == 1) {
      // Reserved huge pages are in no other line, the resident size included.
      add(use.huge_bytes, kib);
      add(use.resident_bytes, kib);
    }
  }
  return use;
}

}  // namespace page_use_internal

PageUse page_use(const void* data, size_t bytes) {
  std::ifstream file("/proc/self/smaps");
  std::ostringstream text;
  text << file.rdbuf();
  const auto begin = reinterpret_cast<uintptr_t>(data);
  return page_use_internal::parse_smaps(text.str(), begin, begin + bytes);
}

}  // namespace rota
