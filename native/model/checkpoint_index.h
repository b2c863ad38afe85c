// model.safetensors.index.json: which file holds which tensor. Pure text; opens nothing.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace rota {

// Tensor -> name of the file, which lies beside the index. kLoad, with `path` and the tensor.
using CheckpointIndex = std::map<std::string, std::string, std::less<>>;
Result<CheckpointIndex> read_checkpoint_index(const std::string& path, std::string_view text);

}  // namespace rota
