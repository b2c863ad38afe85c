// The flags of speculation: what drafts, how much, and from which experts. Owns their ranges and
// help.
#pragma once

#include <string>
#include <vector>

#include "base/flags.h"
#include "engines/strata/options.h"

namespace rota {

std::vector<Flag> drafting_flags(StrataOptions& options);

// Words of the family's recipes that are set in the environment and, having no prefix, not read.
std::vector<std::string> bare_names_set(const Environment& environment);

}  // namespace rota
