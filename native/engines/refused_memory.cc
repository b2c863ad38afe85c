// Exceptions to statuses, and the line that a user reads.
#include "engines/refused_memory.h"

#include <new>
#include <string>
#include <system_error>

#include "engines/size_value.h"

namespace rota {

Status catch_refusals(const std::function<Status()>& step) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    return Status(Code::kOutOfMemory, "the system refused memory");
  } catch (const std::system_error& error) {
    return Status(Code::kOutOfMemory, error.what());
  }
}

Status explain_refusal(const Status& status, const std::vector<MemoryNeed>& needs) {
  const std::string begin = "out of memory: ";
  // The guard's own line says all this already.
  if (status.code() != Code::kOutOfMemory || status.message().starts_with(begin)) return status;
  uint64_t total = 0;
  std::string parts;
  const MemoryNeed* largest = nullptr;
  for (const MemoryNeed& need : needs) {
    total += need.bytes;
    if (need.bytes == 0) continue;
    parts += (parts.empty() ? "" : ", ") + std::string(need.what) + " " + format_size(need.bytes);
    if (need.knob != nullptr && (largest == nullptr || need.bytes > largest->bytes)) {
      largest = &need;
    }
  }
  std::string message = begin + status.message();
  if (total > 0) message += "; asked in all " + format_size(total) + " (" + parts + ")";
  message += largest != nullptr ? std::string("; lower ") + largest->knob
                                : "; no knob lowers what reading a model's headers takes";
  return Status(Code::kOutOfMemory, message);
}

}  // namespace rota
