// Writes a synthetic model: GGUF file(s), DSpark sidecar, tokenizer keys. Decides formats and order
// of tensors; the values are synthetic.h's.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "formats/block.h"
#include "model/family.h"
#include "model/named_configs.h"
#include "model/router_skew.h"
#include "model/synthetic_tokenizer.h"

namespace rota {

// How the weights of matrices come to be.
enum class ValueKind {
  kNormal,  // drawn near-normal and rounded
  kGrid,    // few values that several formats hold exactly, see synthetic.h
  kRandom,  // random blocks (random_blocks.h): as fast as memory, for what is too large to draw
};

inline constexpr std::array kValueKinds = {ValueKind::kNormal, ValueKind::kGrid,
                                           ValueKind::kRandom};
const char* value_kind_name(ValueKind kind);

struct SyntheticOptions {
  std::string config = "mini-s";
  uint64_t seed = 1;
  int layers = 0;                   // the config's first so many; 0 = all
  int64_t engram_rows = 0;          // about so many in each Engram table; 0 = as the config says
  std::optional<ValueKind> values;  // unset: the config's own
  std::optional<SkewOptions> skew;  // unset: the config's own
  int threads = 0;                  // 0 = one a core; the files do not depend on it
  // Unset: the config's own default (named_configs.h).
  std::optional<Format> expert_format;
  bool mixed_experts =
      false;  // PTQ1_0 / Q2_0 / Q3_K drawn expert by expert; expert_format is then unset
  std::optional<Format> dense_format;
  std::optional<Format> engram_format;  // of the Engram tables; unset: dense_format
  bool engram_tables = true;            // false: the model counts on a file of extract-engram
  // Ours has a format of its own for each expert; a and b have three 3-D tensors a layer, one
  // format for all experts.
  Family family = Family::kOurs;
  int image_id = -1;  // a token that stands for images; -1: none is named
  int shards = 1;
  // Called with the bytes of all files before the first is written; an error stops there.
  std::function<Status(uint64_t bytes)> before_write;
  // Called now and then with weights made and to make.
  std::function<void(uint64_t done, uint64_t total)> progress;
  // Asked as often; true ends it with kCancelled and leaves no file.
  std::function<bool()> stopped;
};

struct SyntheticFiles {
  std::vector<std::string> model;  // shards, in order
  std::string sidecar;
  std::vector<std::pair<int, int>> ranking;  // (layer, expert), most wanted first; empty: no skew
  bool tokenizer = false;                    // false: the vocabulary is too small for one
  uint64_t bytes = 0;
};

// kUsage for options that do not fit each other or the config; kIo for the disk. `path` ends in
// .gguf.
Result<SyntheticFiles> write_synthetic_model(const SyntheticOptions& options,
                                             const std::string& path);

// The config as it will be written: engram tables and token map filled in, from `tokenizer` or,
// where the vocabulary is too small for one (nullptr), from a plain rule.
Result<Config> synthetic_config(const NamedConfig& named, const TokenizerKeys* tokenizer);

// Shares of the formats in a mixed model: ternary, 2-bit, 3-bit.
inline constexpr double kMixPTQ1_0 = 0.428, kMixQ2_0 = 0.392;
Format mixed_format(uint64_t seed, bool sidecar, int layer, int expert);

}  // namespace rota
