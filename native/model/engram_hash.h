// Which rows of an Engram table a position reads (V4.1 reference 2.9). Owns the n-gram hash; reads
// no row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/config.h"

namespace rota {

// Rows of engram layer number `which` at the last position of `history`, the compressed ids of
// positions 0 .. p: out[engram_columns()], order-major then head. Look-backs before the sequence
// start become the mapped pad id, and so does everything behind the first of them.
void engram_rows(const Config& config, int which, std::span<const int32_t> history, int64_t* out);

}  // namespace rota
