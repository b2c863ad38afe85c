// What strata says of itself when it is ready. Owns the `ready` event and the notes on stderr that
// go with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engines/strata/strata_engine.h"

namespace rota {

std::string ready_event(const StrataEngine& engine);
// The family's load lines, one a string.
std::vector<std::string> ready_lines(const StrataEngine& engine);
// Names of the lossy knobs in use.
std::vector<std::string> lossy_knobs(const StrataOptions& options);
// The line that names them; empty when there are none.
std::string lossy_line(const StrataOptions& options);

}  // namespace rota
