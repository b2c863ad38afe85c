// Sizes the caches.
#include "model/caches.h"

namespace rota {

Caches place_caches(const Config& config, int ctx, int max_rows, DeviceMemory& memory) {
  Caches caches;
  const int slots = config.window + max_rows;
  caches.target.slots = caches.draft.slots = slots;
  const size_t head_dim = static_cast<size_t>(config.head_dim),
               ring = static_cast<size_t>(slots) * head_dim;
  caches.streams.resize(static_cast<size_t>(config.layers));
  for (int layer = 0; layer < config.layers; ++layer) {
    caches.windows.push_back(memory.take<float>(ring, "window cache"));
    if (!config.owns_kv(layer)) continue;
    CompressedStream& stream = caches.streams[static_cast<size_t>(layer)];
    stream.ratio = config.ratios[static_cast<size_t>(layer)];
    const size_t groups = static_cast<size_t>(ctx / stream.ratio);
    stream.keys = memory.take<float>(groups * head_dim, "compressed cache");
    stream.index_keys =
        memory.take<float>(groups * static_cast<size_t>(config.index_head_dim), "index cache");
    if (stream.ratio > 1) {
      stream.open_kv = memory.take<float>(ring, "open groups");
      stream.open_gate = memory.take<float>(ring, "open groups");
    }
  }
  for (int stage = 0; stage < config.draft_stages; ++stage) {
    caches.draft_contexts.push_back(memory.take<float>(ring, "draft context"));
  }
  return caches;
}

}  // namespace rota
