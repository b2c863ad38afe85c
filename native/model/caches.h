// What crosses passes of one sequence: window rings, compressed streams, open groups, compressed-id
// history. Everything is addressed by absolute position, so that forgetting positions is forgetting
// a number. Owns layout and reach; no arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "model/config.h"
#include "model/device_memory.h"
#include "model/model.h"

namespace rota {

// A ring of `slots` positions. Slots are window + the rows of one pass, so a pass overwrites
// nothing that the window of any of its rows needs, and rolling back into the pass finds the window
// whole.
struct RingReach {
  int slots = 0;
  int held_from = 0;  // oldest position still held

  void wrote_up_to(int end) { held_from = end - slots > held_from ? end - slots : held_from; }
  // Whether positions [first, ..) are held; dropping to 0 starts afresh.
  bool holds(int first) const { return first >= held_from; }
};

// A kv source's stream and the tokens of its open group.
struct CompressedStream {
  int ratio = 1;
  int groups = 0;                    // that there is room for: ctx / ratio
  KeyRows keys;                      // [groups, head_dim]
  KeyRows index_keys;                // [groups, index_head_dim]
  DevPtr<float> open_kv, open_gate;  // rings [slots, head_dim], ratio > 1 only
};

struct Caches {
  RingReach target, draft;
  std::vector<KeyRows> windows;           // [layers] of [slots, head_dim]
  std::vector<CompressedStream> streams;  // [layers], filled for kv sources
  std::vector<KeyRows> draft_contexts;    // [stages] of [slots, head_dim]
  AlignedBuffer compressed_ids;           // [ctx] of int32_t, on the host
};

// Sized by ctx and max_rows once; all but compressed_ids, which are on the host. Check memory's
// status.
Caches place_caches(const Config& config, const ModelOptions& options, DeviceMemory& memory);

}  // namespace rota
