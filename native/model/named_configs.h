// The configurations known by name, for synthetic models. Pure numbers; the Engram tables are
// filled in by whoever knows the token map.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/block.h"
#include "model/config.h"

namespace rota {

struct NamedConfig {
  Config config;           // without engram tables and token map
  bool harsh = false;      // spread of the hyper-connection weights, see synthetic.h
  bool quantised = false;  // default formats: experts mixed and dense Q8_0, else all F32
  // Experts are random blocks (random_blocks.h), not encoded weights: there are too many to draw.
  bool random_experts = false;
};

std::vector<std::string> config_names();
// kUsage with the names that exist.
Result<NamedConfig> named_config(std::string_view name);

}  // namespace rota
