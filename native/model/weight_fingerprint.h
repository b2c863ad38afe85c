// The identity of weights in one hash that is cheap on files of any size. Knows containers, not
// models.
#pragma once

#include <string>
#include <vector>

#include "formats/gguf.h"

namespace rota {

// SHA-256 in hex over, for each file in turn: its keys with their values, its tensors' names,
// formats and shapes (both sorted by name), and of each shard the size and kSampledPages pages of 1
// MiB at even distances, the first and the last among them. Shards small enough are hashed whole.
// Paths play no part.
inline constexpr int kSampledPages = 8;
std::string weight_fingerprint(const std::vector<const Gguf*>& files);

}  // namespace rota
