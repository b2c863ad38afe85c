// Rows of the Engram hash: the release's numbers, padding, orders, buckets.
#include "model/engram_hash.h"

#include <doctest/doctest.h>

#include "model/engram_fixture.h"
#include "model/engram_tables.h"

namespace rota {
namespace {

// The release's hash with a token map that sends raw id 2 to compressed id 7.
Config release() {
  Config config = release_engram();
  const EngramTables tables = derive_engram_tables(config);
  config.engram_primes = tables.primes;
  config.engram_offsets = tables.offsets;
  config.engram_multipliers = tables.multipliers;
  config.engram_token_map = {0, 1, 7};
  config.engram_pad_id = 7;
  return config;
}

std::vector<int64_t> rows(const Config& config, int which, const std::vector<int32_t>& history) {
  std::vector<int64_t> out(24);
  engram_rows(config, which, history, out.data());
  return out;
}

std::vector<int64_t> picked(const std::vector<int64_t>& all) {
  return {all[0], all[7], all[8], all[16], all[23]};
}

TEST_CASE("rows of the release's tables, at the sequence's start and behind it") {
  const Config config = release();
  CHECK(picked(rows(config, 0, {10})) ==
        std::vector<int64_t>{7192719, 119391693, 137673476, 263199926, 379211748});
  CHECK(picked(rows(config, 0, {10, 20, 30, 40, 50})) ==
        std::vector<int64_t>{5457301, 114358063, 130605657, 261515048, 377395685});
  CHECK(picked(rows(config, 1, {10, 20, 30, 40, 50})) ==
        std::vector<int64_t>{12112771, 126606474, 142726201, 259419700, 380580960});
}

TEST_CASE("only the last four ids count, and before the start stands the MAPPED pad id") {
  const Config config = release();
  CHECK(rows(config, 0, {1, 2, 20, 30, 40, 50}) == rows(config, 0, {20, 30, 40, 50}));
  CHECK(rows(config, 0, {10}) == rows(config, 0, {7, 7, 7, 10}));
  CHECK(rows(config, 0, {10}) != rows(config, 0, {2, 2, 2, 10}));
}

TEST_CASE("an order's columns do not move with older ids than it covers") {
  const Config config = release();
  const std::vector<int64_t> a = rows(config, 0, {20, 30, 40, 50}),
                             b = rows(config, 0, {21, 30, 40, 50});
  for (size_t column = 0; column < 24; ++column) CHECK((a[column] == b[column]) == (column < 16));
}

TEST_CASE("every row is inside its bucket") {
  const Config config = release();
  for (int32_t id = 0; id < 300; ++id) {
    const std::vector<int64_t> all = rows(config, 1, {id, id * 331, id * 17, 99091 - id});
    for (size_t column = 0; column < 24; ++column) {
      REQUIRE(all[column] >= config.engram_offsets[24 + column]);
      REQUIRE(all[column] < config.engram_offsets[24 + column] + config.engram_primes[24 + column]);
    }
  }
}

}  // namespace
}  // namespace rota
