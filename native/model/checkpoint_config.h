// config.json and engram.json of a released checkpoint -> Config. Owns their key names; opens no
// file and knows no tensor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/config.h"

namespace rota {

struct CheckpointConfig {
  Config config;  // draft stages included
  // engram_num_embeddings: rows of each Engram table; empty where config.json does not say.
  std::vector<int64_t> engram_rows;
};

// Of config.json. Where there are Engram layers, their token map and tables are still missing, and
// the numbers are not validated yet. kLoad, with `path` and the key.
Result<CheckpointConfig> read_checkpoint_config(const std::string& path, std::string_view text);

// Of engram.json, {"token_map": [compressed id of each token]}: the map, and the tables and the pad
// that follow from it. kLoad also where the tables do not have the rows that config.json says.
Status read_token_map(const std::string& path, std::string_view text, CheckpointConfig& read);

}  // namespace rota
