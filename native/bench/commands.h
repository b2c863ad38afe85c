// The benchmarks of rota-bench, each a command with flags of its own. A command prints its result
// on stdout.
#pragma once

#include <span>

#include "base/status.h"

namespace rota {

Status pool_command(std::span<const char* const> arguments);
Status neighbour_command(std::span<const char* const> arguments);
Status decode_command(std::span<const char* const> arguments);
Status kernels_command(std::span<const char* const> arguments);
// In cuda/.
Status experts_command(std::span<const char* const> arguments);

}  // namespace rota
