// The constants of the Engram hash: which primes, offsets and multipliers a config implies. Knows
// no weights.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "model/config.h"

namespace rota {

// Orders are the n-gram lengths 2 .. max_ngram, so orders = max_ngram - 1; columns = orders *
// heads, order-major.
struct EngramTables {
  std::vector<int64_t> primes;       // [engram layers, orders, heads]
  std::vector<int64_t> offsets;      // [engram layers, orders, heads], running sum inside the layer
  std::vector<int64_t> multipliers;  // [engram layers, max_ngram], odd
  std::vector<int64_t> rows;         // [engram layers], rows of each table
  std::vector<int32_t>
      token_map;  // [vocab] raw id -> compressed id; from the file, empty when derived
};

// Primes, offsets, multipliers and rows from engram_start, heads, max_ngram, layer ids and the
// compressed vocabulary (V4.1 reference 2.9). Every (layer, order) restarts at engram_start and
// takes the next unused primes.
EngramTables derive_engram_tables(const Config& config);

}  // namespace rota
