// Streams the Engram tables of the released safetensors into a GGUF of their own. Owns its layout,
// the order of writing and where a killed run goes on; prints nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace rota {

// The file: architecture "deepseek41-engram", keys engram.layer_ids, engram.head_dim,
// engram.num_embeddings and engram.source, and a tensor blk.N.engram_embed.weight of MXFP8
// [head_dim, rows] for each layer: row by row, a block is the row's scale byte and its 32 codes,
// which are copied as they are. So the file is as long as what it was made of.
struct ExtractOptions {
  std::vector<std::string> from;  // safetensors files, or folders that hold them
  std::string out;                // must not exist; OUT.partial holds what is not finished
  bool verify = true;             // reads source and result again and compares every byte
  // Called once before anything is written, and then now and then. `start` is what an earlier run
  // has already done.
  std::function<Status(uint64_t needed_bytes)> before_write;
  std::function<void(const char* phase, uint64_t start, uint64_t done, uint64_t total)> progress;
};

struct ExtractResult {
  uint64_t bytes = 0;          // of the file
  uint64_t resumed_bytes = 0;  // of these, from an earlier run
  std::vector<int> layers;
  std::vector<uint64_t> rows;
};

// kUsage: OUT exists. kLoad: no tables in the sources, or not as they should be. kIo: file, offset
// and the system's words; what was written stays in OUT.partial and the next run goes on behind it.
Result<ExtractResult> extract_engram(const ExtractOptions& options);

}  // namespace rota
