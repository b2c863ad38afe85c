// Fuzz target: a GGUF that lies in two raw parts, cut wherever the input's first bytes say. It is
// what the joined file would be.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/temp_dir.h"
#include "formats/gguf.h"
#include "fuzz/memory_file.h"

namespace {

constexpr size_t kRoom = size_t{1} << 16;

struct Parts {
  Parts() : whole(kRoom), first(kRoom), second(kRoom) {
    ROTA_CHECK(symlink(first.path().c_str(), (dir / "m.gguf.part-00").c_str()) == 0);
    ROTA_CHECK(symlink(second.path().c_str(), (dir / "m.gguf.part-01").c_str()) == 0);
  }
  rota::TempDir dir;
  rota::MemoryFile whole, first, second;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Parts parts;
  if (size < 3) return 0;
  const size_t bytes = size - 2;
  const size_t asked = (static_cast<size_t>(data[0]) << 8 | data[1]) % bytes;
  // Parts but the last have one size, and no part is larger than they are.
  const size_t cut = std::max(asked, (bytes + 1) / 2);
  if (cut >= bytes) return 0;
  parts.whole.set(data + 2, bytes, bytes);
  parts.first.set(data + 2, cut, cut);
  parts.second.set(data + 2 + cut, bytes - cut, bytes - cut);
  const auto joined = rota::Gguf::open(parts.whole.path());
  const auto apart = rota::Gguf::open(parts.dir / "m.gguf");
  ROTA_CHECK(joined.ok() == apart.ok(), joined.status().message(), apart.status().message());
  if (!joined.ok()) return 0;
  ROTA_CHECK(joined.value().keys() == apart.value().keys());
  ROTA_CHECK(joined.value().tensors().size() == apart.value().tensors().size());
  return 0;
}
