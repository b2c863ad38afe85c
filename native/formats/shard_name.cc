// Parsing and making of split file names.
#include "formats/shard_name.h"

#include <cstdio>
#include <string_view>

namespace rota {

std::optional<ShardName> parse_shard_name(const std::string& path) {
  constexpr std::string_view kPattern = "-#####-of-#####.gguf";
  if (path.size() < kPattern.size()) return std::nullopt;
  const size_t start = path.size() - kPattern.size();
  for (size_t i = 0; i < kPattern.size(); ++i) {
    const char c = path[start + i];
    if (kPattern[i] == '#' ? c < '0' || c > '9' : c != kPattern[i]) return std::nullopt;
  }
  const ShardName name{path.substr(0, start), std::stoi(path.substr(start + 1, 5)) - 1,
                       std::stoi(path.substr(start + 10, 5))};
  if (name.index < 0 || name.index >= name.count) return std::nullopt;
  return name;
}

std::string shard_path(const ShardName& name, int index) {
  char suffix[32];
  std::snprintf(suffix, sizeof(suffix), "-%05d-of-%05d.gguf", index + 1, name.count);
  return name.stem + suffix;
}

std::string model_stem(const std::string& path) {
  if (const auto shard = parse_shard_name(path)) return shard->stem;
  return path.ends_with(".gguf") ? path.substr(0, path.size() - 5) : path;
}

}  // namespace rota
