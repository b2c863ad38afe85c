// Lists of CPUs or nodes as the kernel writes them: "0-3,8". Knows no machine.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace rota {

// Ascending, each once. kUsage: what is no such list, or a number above 4095.
Result<std::vector<int>> parse_cpu_list(const std::string& text);
// The same in the order that was written, for lists in which places count; each number once.
Result<std::vector<int>> parse_ordered_cpu_list(const std::string& text);
// "0-3,8"; of an empty list an empty text.
std::string format_cpu_list(const std::vector<int>& ascending);

}  // namespace rota
