// The flags that say where experts live, how they move and what routing sees of it. Owns their
// ranges and help; their values are in StrataOptions.
#pragma once

#include <vector>

#include "base/flags.h"
#include "engines/strata/options.h"

namespace rota {

std::vector<Flag> tier_flags(StrataOptions& options);

}  // namespace rota
