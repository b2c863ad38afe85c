// Which device computes, as a user writes it. Owns the text form only.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"

namespace rota {

// "host": absent; "cuda:N": N. kUsage, without the flag's name.
Result<std::optional<int>> parse_device(const std::string& text);

}  // namespace rota
