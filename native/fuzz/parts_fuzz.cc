// Fuzz target: a GGUF that lies in two raw parts, cut wherever the input's first bytes say. It is
// what the joined file would be.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "formats/gguf.h"
#include "formats/input_gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const std::span<const uint8_t> whole(data + 2, size - 2);
  const size_t asked = (static_cast<size_t>(data[0]) << 8 | data[1]) % whole.size();
  // Parts but the last have one size, and no part is larger than they are.
  const size_t cut = std::max(asked, (whole.size() + 1) / 2);
  if (cut >= whole.size()) return 0;
  // Each in an allocation of its own: a read across the cut shows.
  const std::vector<uint8_t> first(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(cut));
  const std::vector<uint8_t> second(whole.begin() + static_cast<ptrdiff_t>(cut), whole.end());
  std::vector<rota::MmapFile> parts;
  parts.push_back(rota::MmapFile::of_memory("m.part-00", first));
  parts.push_back(rota::MmapFile::of_memory("m.part-01", second));
  auto view = rota::FileView::of("m", std::move(parts));
  ROTA_CHECK(view.ok(), view.status().message());
  const auto apart = rota::Gguf::read(std::move(view).value());
  const auto joined = rota::input_gguf(whole);
  ROTA_CHECK(joined.ok() == apart.ok(), joined.status().message(), apart.status().message());
  if (!joined.ok()) return 0;
  ROTA_CHECK(joined.value().keys() == apart.value().keys());
  ROTA_CHECK(joined.value().tensors().size() == apart.value().tensors().size());
  for (const std::string& key : joined.value().keys()) {
    const rota::GgufValue &one = *joined.value().find(key), &other = *apart.value().find(key);
    ROTA_CHECK(one.type == other.type && one.count == other.count && one.bytes == other.bytes, key);
    ROTA_CHECK(std::memcmp(one.payload, other.payload, one.bytes) == 0, key);
  }
  return 0;
}
