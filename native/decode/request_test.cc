// Sums of passes, field by field.
#include "decode/request.h"

#include <doctest/doctest.h>

namespace rota {

TEST_CASE("totals add every number of a pass, and of other totals") {
  PassRecord pass;
  pass.rows = 2;
  pass.offered = 3;
  pass.accepted = 4;
  pass.experts.lookups = 5;
  pass.dense_bytes = 6;
  pass.engram_rows = 7;
  pass.engram_bytes = 8;
  PassTotals totals;
  totals.add(pass);
  PassTotals twice;
  twice.add(totals);
  twice.add(totals);
  const PassTotals& t = twice;
  CHECK(t.passes == 2);
  CHECK(t.rows == 4);
  CHECK(t.offered == 6);
  CHECK(t.accepted == 8);
  CHECK(t.experts.lookups == 10);
  CHECK(t.dense_bytes == 12);
  CHECK(t.engram_rows == 14);
  CHECK(t.engram_bytes == 16);
}

}  // namespace rota
