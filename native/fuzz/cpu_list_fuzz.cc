// Fuzz target: lists of CPUs as the kernel and users write them. A list that is understood holds
// each number once, is the same in its written order, and says itself again.
#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/cpu_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto list = rota::parse_cpu_list(text);
  const auto ordered = rota::parse_ordered_cpu_list(text);
  ROTA_CHECK(list.ok() == ordered.ok(), text);
  if (!list.ok()) return 0;
  const std::vector<int>& cpus = list.value();
  ROTA_CHECK(!cpus.empty() && cpus.front() >= 0 && cpus.back() <= 4095, text);
  const auto no_ascent = std::adjacent_find(cpus.begin(), cpus.end(), std::greater_equal<int>());
  ROTA_CHECK(no_ascent == cpus.end(), text);
  std::bitset<4096> written;
  for (const int n : ordered.value()) {
    ROTA_CHECK(!written[static_cast<size_t>(n)], text, n);
    written.set(static_cast<size_t>(n));
  }
  ROTA_CHECK(written.count() == cpus.size(), text);
  for (const int n : cpus) ROTA_CHECK(written[static_cast<size_t>(n)], text, n);
  const std::string again = rota::format_cpu_list(cpus);
  const auto same = rota::parse_ordered_cpu_list(again);
  ROTA_CHECK(same.ok() && same.value() == cpus, text, again);
  return 0;
}
