// Fuzz target: logs of routed experts. What is accepted counts uses of experts that the file itself
// says there are.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "experts/routes.h"
#include "fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static rota::MemoryFile file(size_t{1} << 16);
  file.set(data, size, size);
  const auto counts = rota::count_routes({file.path()}, {rota::RowKind::kDecode});
  if (!counts.ok()) return 0;
  for (const int64_t uses : counts.value().uses) ROTA_CHECK(uses >= 0, "uses", uses);
  return 0;
}
