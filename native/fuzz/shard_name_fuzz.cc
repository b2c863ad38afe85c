// Fuzz target: names of split files. A name that is understood says itself again.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "formats/shard_name.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path(reinterpret_cast<const char*>(data), size);
  (void)rota::model_stem(path);
  const auto name = rota::parse_shard_name(path);
  if (!name) return 0;
  ROTA_CHECK(rota::shard_path(*name, name->index) == path, path);
  ROTA_CHECK(name->index >= 0 && name->index < name->count, name->index, name->count);
  return 0;
}
