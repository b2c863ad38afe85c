// Engram constants: the release's multipliers, primes and offsets.
#include "model/engram_tables.h"

#include <doctest/doctest.h>

#include <numeric>
#include <set>

#include "model/engram_fixture.h"

namespace rota {
namespace {

TEST_CASE("the release's multipliers are numpy's") {
  const EngramTables tables = derive_engram_tables(release_engram());
  CHECK(tables.multipliers == std::vector<int64_t>{76632096046245, 4839876093313, 35959672319349,
                                                   73987337458391, 67716810739261, 51510806800915,
                                                   30921347202721, 82619226485591});
}

TEST_CASE("primes are consecutive over layers and orders, each used once") {
  const EngramTables tables = derive_engram_tables(release_engram());
  REQUIRE(tables.primes.size() == 48);
  CHECK(tables.primes[0] == 16000057);
  CHECK(tables.primes[1] == 16000079);
  CHECK(tables.primes[2] == 16000081);
  CHECK(tables.primes[47] == 16000889);
  CHECK(std::set<int64_t>(tables.primes.begin(), tables.primes.end()).size() == 48);
}

TEST_CASE("offsets restart in each layer and rows are their layer's sum of primes") {
  const EngramTables tables = derive_engram_tables(release_engram());
  CHECK(tables.offsets[0] == 0);
  CHECK(tables.offsets[1] == 16000057);
  CHECK(tables.offsets[8] == 128000880);
  CHECK(tables.offsets[16] == 256002934);
  CHECK(tables.offsets[24] == 0);
  CHECK(tables.rows == std::vector<int64_t>{384006168, 384016682});
}

}  // namespace
}  // namespace rota
