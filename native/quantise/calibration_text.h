// The text that a model is calibrated on, as token ids: which pieces a fit may see and which are
// only measured on. Knows no tokenizer and no model but its vocabulary.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "model/config.h"

namespace rota {

struct Piece {
  std::vector<int> tokens;
  bool held_out = false;
};

struct TextFiles {
  std::vector<std::string> fit;       // what is fitted on
  std::vector<std::string> held_out;  // what is measured on; none: every fourth sequence of `fit`
};

inline constexpr size_t kShortestPiece = 16;  // tokens; a shorter rest of a sequence is left out
inline constexpr size_t kHeldOutOneIn = 4;

// A file has a sequence a line: ids, spaces between. Sequences are cut into pieces of `window`
// tokens; a piece never holds parts of two. kUsage with file and line; kUsage when either part is
// empty.
Result<std::vector<Piece>> read_pieces(const TextFiles& files, size_t window, const Config& config);

}  // namespace rota
