// A tokenizer as a GGUF's keys have it: byte-level BPE with the splits of "joyai-llm". Owns the
// keys' names.
#pragma once

#include <string>
#include <vector>

#include "formats/gguf_writer.h"
#include "model/config.h"

namespace rota {

// GGUF's token types.
inline constexpr int kNormalToken = 1, kControlToken = 3, kUserToken = 4, kUnusedToken = 5;

struct TokenizerKeys {
  std::vector<std::string> tokens;  // by id; bytes written with GPT-2's printable letters
  std::vector<int> types;
  std::vector<std::string> merges;  // "left right", in order of rank
  bool add_bos = false;             // a prompt begins with bos_id
};

// The special ids of the config; and the tokenizer, where there is one.
void write_tokenizer_keys(const Config& config, const TokenizerKeys* tokenizer, GgufWriter& writer);

}  // namespace rota
