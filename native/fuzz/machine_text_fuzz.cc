// Fuzz target: texts about the machine: a cgroup's CPU quota, free memory, limits of a process. The
// first byte says which. What a reader takes from one is what C's own number reader finds there.
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/memory_limits.h"
#include "base/topology.h"

namespace {

// "QUOTA PERIOD", both above 0, rounded up to whole cores; else 0.
int quota_of(const std::string& text) {
  const char* at = text.c_str();
  long number[2];
  for (long& n : number) {
    char* end = nullptr;
    errno = 0;
    n = std::strtol(at, &end, 10);
    if (end == at || errno != 0 || n <= 0) return 0;
    at = end;
  }
  const __int128 cores = (static_cast<__int128>(number[0]) + number[1] - 1) / number[1];
  return cores > INT_MAX ? INT_MAX : static_cast<int>(cores);
}

// The first number that stands behind `name` and blanks, the name at the beginning of a line.
std::optional<uint64_t> number_behind(const std::string& text, const std::string& name) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    if (at > 0 && text[at - 1] != '\n') continue;
    const char* digits = text.c_str() + at + name.size();
    while (*digits == ' ' || *digits == '\t') ++digits;
    if (std::isdigit(static_cast<unsigned char>(*digits)) == 0) continue;
    errno = 0;
    const uint64_t number = std::strtoull(digits, nullptr, 10);
    if (errno == 0) return number;
  }
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 3) {
    case 0:
      ROTA_CHECK(rota::topology_internal::quota_cores(text) == quota_of(text), text);
      break;
    case 1: {
      const auto kib = number_behind(text, "MemAvailable:");
      const uint64_t read = rota::memory_internal::parse_mem_available(text);
      const bool fits = kib && *kib <= UINT64_MAX >> 10;
      ROTA_CHECK(fits ? read == *kib << 10 : read == UINT64_MAX, text, read);
      break;
    }
    default: {
      const std::string name = "Max locked memory";
      const uint64_t read = rota::memory_internal::parse_limit(text, name);
      ROTA_CHECK(read == number_behind(text, name).value_or(UINT64_MAX), text, read);
    }
  }
  return 0;
}
