// Memory that is asked, and the refusal of too much.
#include "engines/memory_guard.h"

#include "engines/size_value.h"

namespace rota {

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
  const uint64_t usable = available.bytes > kProgramBytes ? available.bytes - kProgramBytes : 0;
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
