// Under what conditions a benchmark ran: the processor and who else used it. Reads /proc; measures
// nothing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace rota {

struct MachineNote {
  std::string cpu;  // "unknown CPU" where the system does not say
  int cores = 0;
  std::optional<double> load_before, load_after;  // average of a minute
};

MachineNote note_machine();
std::optional<double> load_average();

nlohmann::ordered_json note_json(const MachineNote& note);
std::string note_line(const MachineNote& note);

}  // namespace rota
