// A model's routed experts into few bits, seed to file: text, two rounds, the allocation between
// them, the files and the report. Only composes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "quantise/calibration.h"
#include "quantise/shipped_files.h"

namespace rota {

struct QuantiseOptions {
  std::string model;  // a GGUF; its experts of any format
  std::string out;    // STEM.gguf. FILE.work beside it holds what is finished until all is
  TextFiles text;
  int window = 512;  // tokens of a piece
  int threads = 0;   // 0: all cores
  bool engram_tables = true;
  std::string report;  // JSON; empty: STEM.quantise.json beside the model
  QuantiseProgress progress;
};

struct Quantised {
  ShippedFiles files;
  std::string report;  // its path
  std::string text;    // lines for people
};

// The same inputs give the same bytes, whatever the threads and however often it was killed.
Result<Quantised> quantise(const QuantiseOptions& options);

}  // namespace rota
