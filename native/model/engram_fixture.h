// The release's shape of Engram tables. For tests only.
#pragma once

#include "model/config.h"

namespace rota {

inline Config release_engram() {
  Config config;
  config.engram_layers = {1, 14};
  config.engram_heads = 8;
  config.engram_head_dim = 256;
  config.engram_start = 16000000;
  config.engram_compressed_vocab = 99092;
  return config;
}

}  // namespace rota
