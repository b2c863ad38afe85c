// Sizes the caches.
#include "model/caches.h"

namespace rota {

namespace {

// The format in which a cache of keys that the model rounds by `codes` is held.
KeyFormat held_as(KvKind kind, KeyFormat codes) {
  switch (kind) {
    case KvKind::kF32:
      return KeyFormat::kF32;
    case KvKind::kF16:
      return KeyFormat::kF16;
    case KvKind::kPacked:
      return codes;
  }
  return KeyFormat::kF32;
}

KeyRows take_rows(KeyFormat format, int rows, int dim, const char* what, DeviceMemory& memory) {
  KeyRows keys{format, dim, {}};
  keys.data = memory.take<uint8_t>(static_cast<size_t>(rows) * keys.row_bytes(), what);
  return keys;
}

}  // namespace

Caches place_caches(const Config& config, const ModelOptions& options, DeviceMemory& memory) {
  Caches caches;
  const int slots = config.window + options.max_rows, dim = config.head_dim;
  caches.target.slots = caches.draft.slots = slots;
  const KeyFormat window = held_as(options.kv, KeyFormat::kFp8Block32);
  const size_t ring = static_cast<size_t>(slots) * static_cast<size_t>(dim);
  caches.streams.resize(static_cast<size_t>(config.layers));
  for (int layer = 0; layer < config.layers; ++layer) {
    caches.windows.push_back(take_rows(window, slots, dim, "window cache", memory));
    if (!config.owns_kv(layer)) continue;
    CompressedStream& stream = caches.streams[static_cast<size_t>(layer)];
    stream.ratio = config.ratios[static_cast<size_t>(layer)];
    stream.groups = options.ctx / stream.ratio;
    stream.keys = take_rows(held_as(options.kv, KeyFormat::kFp4E4m3Block16), stream.groups, dim,
                            "compressed cache", memory);
    stream.index_keys = take_rows(held_as(options.kv, KeyFormat::kFp4E8m0Block32), stream.groups,
                                  config.index_head_dim, "index cache", memory);
    if (stream.ratio > 1) {
      stream.open_kv = memory.take<float>(ring, "open groups");
      stream.open_gate = memory.take<float>(ring, "open groups");
    }
  }
  for (int stage = 0; stage < config.draft_stages; ++stage) {
    caches.draft_contexts.push_back(take_rows(window, slots, dim, "draft context", memory));
  }
  return caches;
}

}  // namespace rota
