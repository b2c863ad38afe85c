// The configurations known by name, for synthetic models. Pure numbers; the Engram tables are
// filled in by whoever knows the token map.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/block.h"
#include "model/config.h"
#include "model/router_skew.h"

namespace rota {

struct NamedConfig {
  Config config;           // without engram tables and token map
  bool harsh = false;      // spread of the hyper-connection weights, see synthetic.h
  bool quantised = false;  // default formats: experts mixed and dense Q8_0, else all F32
  // Matrices are random blocks (random_blocks.h), not encoded weights: there are too many to draw.
  bool random = false;
  SkewOptions skew;  // of the routers
};

std::vector<std::string> config_names();
// kUsage with the names that exist.
Result<NamedConfig> named_config(std::string_view name);
// The model's first `layers` layers, with the sources among them; the last of these feed the
// drafter. kUsage for more than there are.
Status cut_layers(NamedConfig& named, int layers);

}  // namespace rota
