// What goes into the hash, in which order.
#include "model/weight_fingerprint.h"

#include <algorithm>
#include <cstdint>

#include "base/sha256.h"

namespace rota {
namespace {

constexpr uint64_t kPage = uint64_t{1} << 20;

void add_number(Sha256& hash, uint64_t value) { hash.update(&value, sizeof(value)); }

// Length first, so that two neighbouring texts cannot be cut in another way.
void add_text(Sha256& hash, const std::string& text) {
  add_number(hash, text.size());
  hash.update(text);
}

void add_keys(Sha256& hash, const Gguf& gguf) {
  std::vector<std::string> keys = gguf.keys();
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys) {
    const GgufValue& value = *gguf.find(key);
    add_text(hash, key);
    add_number(hash, static_cast<uint64_t>(value.type));
    add_number(hash, static_cast<uint64_t>(value.element));
    add_number(hash, value.bytes);
    hash.update(value.payload, value.bytes);
  }
}

void add_tensors(Sha256& hash, const Gguf& gguf) {
  std::vector<const GgufTensor*> tensors;
  for (const GgufTensor& tensor : gguf.tensors()) tensors.push_back(&tensor);
  std::sort(tensors.begin(), tensors.end(),
            [](const GgufTensor* a, const GgufTensor* b) { return a->name < b->name; });
  for (const GgufTensor* tensor : tensors) {
    add_text(hash, tensor->name);
    add_number(hash, static_cast<uint64_t>(tensor->format));
    for (const uint64_t dim : tensor->ne) add_number(hash, dim);
  }
}

// Of the whole, however it is cut into raw parts.
void add_range(Sha256& hash, const FileView& file, uint64_t offset, uint64_t bytes) {
  while (bytes > 0) {
    const uint64_t run = file.run(offset, bytes);
    hash.update(file.within(offset, run), run);
    offset += run;
    bytes -= run;
  }
}

void add_pages(Sha256& hash, const FileView& file) {
  add_number(hash, file.size());
  if (file.size() <= kPage * kSampledPages) return add_range(hash, file, 0, file.size());
  const uint64_t last = file.size() - kPage;
  for (uint64_t i = 0; i < kSampledPages; ++i) {
    // last * i could leave 64 bits only beyond 2^60 bytes.
    add_range(hash, file, last * i / (kSampledPages - 1), kPage);
  }
}

}  // namespace

std::string weight_fingerprint(const std::vector<const Gguf*>& files) {
  Sha256 hash;
  for (const Gguf* gguf : files) {
    add_number(hash, gguf->keys().size());
    add_keys(hash, *gguf);
    add_number(hash, gguf->tensors().size());
    add_tensors(hash, *gguf);
    for (const FileView& shard : gguf->shards()) add_pages(hash, shard);
  }
  return hex(hash.finish());
}

}  // namespace rota
