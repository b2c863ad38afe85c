// Fuzz target: logs of routed experts. What is accepted counts uses of experts that the file itself
// says there are.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "base/check.h"
#include "experts/routes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  rota::RouteCounts counts;
  if (!rota::add_routes(in, "routes", {rota::RowKind::kDecode}, counts).ok()) return 0;
  for (const int64_t uses : counts.uses) ROTA_CHECK(uses >= 0, "uses", uses);
  return 0;
}
