// Fuzz target: texts about the machine, and lists of its CPUs as the kernel and users write them.
// The first byte says which; a list that is understood says itself again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/cpu_list.h"
#include "base/topology.h"
#include "engines/memory_limits.h"

namespace {

void read_list(const std::string& text) {
  const auto list = rota::parse_cpu_list(text);
  ROTA_CHECK(list.ok() == rota::parse_ordered_cpu_list(text).ok());
  if (!list.ok()) return;
  ROTA_CHECK(std::is_sorted(list.value().begin(), list.value().end()));
  const auto again = rota::parse_cpu_list(rota::format_cpu_list(list.value()));
  ROTA_CHECK(again.ok() && again.value() == list.value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 4) {
    case 0:
      read_list(text);
      break;
    case 1:
      ROTA_CHECK(rota::topology_internal::quota_cores(text) >= 0);
      break;
    case 2:
      (void)rota::memory_internal::parse_mem_available(text);
      break;
    default:
      (void)rota::memory_internal::parse_limit(text, "Max locked memory");
  }
  return 0;
}
