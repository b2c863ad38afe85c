// The order in which experts are worth fast memory. Owns the order and its file; knows no tier.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace rota {

// layer * experts + expert, most wanted first; every pair once.
using Ranking = std::vector<int>;

// Without knowledge: index order interleaved over layers (expert 0 of every layer, expert 1 of
// every layer, ...).
Ranking index_ranking(int layers, int experts);

// Text lines "layer expert", most wanted first; '#' starts a comment. Pairs that the file leaves
// out follow in index order. A pair out of range, a pair twice or a line of another shape is an
// error that names file and line.
Result<Ranking> parse_ranking(const std::string& text, const std::string& file, int layers,
                              int experts);
Result<Ranking> read_ranking(const std::string& file, int layers, int experts);

}  // namespace rota
