// The budgets of --slots auto and of --slots SIZE.
#include "engines/strata/slots_budget.h"

#include <algorithm>

#include "engines/size_value.h"

namespace rota {

uint64_t SlotsBudget::rest() const {
  const uint64_t others = program + dense + draft + kv + scratch + margin;
  return available > others ? available - others : 0;
}

uint64_t SlotsBudget::slots() const {
  if (rest() >= experts) return experts;
  const uint64_t held = std::min(arena, experts);
  return rest() > held ? rest() - held : 0;
}

std::string SlotsBudget::line() const {
  std::string text = "slots auto: " + format_size(available) + " free by " + limit;
  const auto less = [&text](const char* name, uint64_t bytes) {
    if (bytes > 0) text += std::string(" - ") + name + " " + format_size(bytes);
  };
  less("program", program);
  less("dense", dense);
  less("draft experts", draft);
  less("KV", kv);
  less("scratch", scratch);
  less("margin", margin);
  if (rest() >= experts) return text + " = " + format_size(rest()) + ", enough for all experts";
  less("arena", std::min(arena, experts));
  return text + " = " + format_size(slots()) + " of expert slots";
}

Result<uint64_t> slots_in(uint64_t size, uint64_t kv) {
  if (size == 0) return uint64_t{0};
  if (size >= kv) return size - kv;
  return Status(Code::kOutOfMemory, "out of memory: --slots " + format_size(size) +
                                        " hold the context's keys too, which take " +
                                        format_size(kv) +
                                        ": raise it, lower --ctx, or take --kv packed");
}

std::string slots_in_line(uint64_t size, uint64_t kv) {
  return "slots " + format_size(size) + " - KV " + format_size(kv) + " = " +
         format_size(size - kv) + " of expert slots";
}

}  // namespace rota
