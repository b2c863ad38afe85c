// Finds the routed experts of one layer in a GGUF file, in either layout, as file spans. Reads the
// map, never a weight.
#pragma once

#include <vector>

#include "base/status.h"
#include "formats/gguf.h"
#include "model/config.h"
#include "model/weight_source.h"

namespace rota {

// The blobs of experts 0 .. experts-1 of `layer`. `first_files` has, shard by shard, the number of
// its first file: a shard in raw parts is several files.
Result<std::vector<ExpertBlob>> find_expert_blobs(const Gguf& gguf,
                                                  const std::vector<int>& first_files,
                                                  const Config& config, int layer, int experts);

// Bytes of the three parts of an expert whose parts are all in `format`: gate, up, down.
Result<std::array<uint64_t, 3>> expert_part_bytes(const Config& config, Format format);

}  // namespace rota
