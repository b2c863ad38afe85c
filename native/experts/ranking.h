// The order in which experts are worth fast memory. Owns the order and its file; knows no tier.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace rota {

// layer * experts + expert, most wanted first; every pair once.
using Ranking = std::vector<int>;

// Without knowledge: index order interleaved over layers (expert 0 of every layer, expert 1 of
// every layer, ...).
Ranking index_ranking(int layers, int experts);

// uses[layers * experts], how often each was chosen: most used first, equals in index order.
Ranking rank_by_use(int layers, int experts, std::span<const int64_t> uses);

// The text that parse_ranking reads back.
std::string ranking_text(const Ranking& ranking, int experts);

// Text lines "layer expert", most wanted first; '#' starts a comment. Pairs that the file leaves
// out follow in index order. A pair out of range, a pair twice or a line of another shape is an
// error that names file and line.
Result<Ranking> parse_ranking(const std::string& text, const std::string& file, int layers,
                              int experts);
struct RankFile {
  Ranking ranking;
  std::string sha256;  // of the file's bytes
};
Result<RankFile> read_ranking(const std::string& file, int layers, int experts);

}  // namespace rota
