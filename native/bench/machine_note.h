// Under what conditions a benchmark ran: the processor and who else used it. Reads /proc; measures
// nothing.
#pragma once

#include <optional>
#include <string>

namespace rota {

std::string cpu_name();                // "unknown CPU" where the system does not say
std::optional<double> load_average();  // of the last minute

}  // namespace rota
