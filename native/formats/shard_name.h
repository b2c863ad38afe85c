// The naming of split files: STEM-00001-of-0000N.gguf. Pure text; opens nothing.
#pragma once

#include <optional>
#include <string>

namespace rota {

struct ShardName {
  std::string stem;  // with its folder, without "-00001-of-0000N.gguf"
  int index = 0;     // from 0
  int count = 0;
};

// Nothing when the path is not of that form (or its numbers make no sense).
std::optional<ShardName> parse_shard_name(const std::string& path);
std::string shard_path(const ShardName& name, int index);
// The path without ".gguf" and without a shard suffix.
std::string model_stem(const std::string& path);

}  // namespace rota
