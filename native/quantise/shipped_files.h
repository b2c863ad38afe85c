// The model that ships: GGUF of our family with each expert in its own format, and the DSpark
// sidecar. Owns what is declared and in which order; fits nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/weight_source.h"
#include "quantise/layer_records.h"

namespace rota {

struct ShippedFiles {
  std::string model, sidecar;  // sidecar: empty without draft stages
  uint64_t bytes = 0;
};

struct ShippedChoice {
  std::vector<int> choice;  // [layers * experts], into kChoices
  // Asked for once, in order, when that layer is written.
  std::function<Result<LayerFit>(int layer)> fitted;
  bool engram_tables = true;  // false: left out, for a file of extract-engram
};

// Both files of `source` at STEM.gguf. Dense matrices go through shipped_dense(), draft experts
// stay as they are; the tokenizer's keys are copied from the GGUF at `source_path`. Each file
// appears whole or not at all, the model last.
Result<ShippedFiles> write_shipped(const WeightSource& source, const std::string& source_path,
                                   const ShippedChoice& shipped, const std::string& path);

}  // namespace rota
