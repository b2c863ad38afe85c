// A byte-level BPE tokenizer for synthetic models: special tokens, 256 bytes, merges learnt from a
// short embedded text. Deterministic: the same size gives the same tokenizer. Writes nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer_keys.h"

namespace rota {

// The smallest vocabulary that holds the special tokens and all bytes.
int least_tokenizer_vocab();

// `vocab` >= least_tokenizer_vocab(). The last id is DSpark's noise token; ids that no merge is
// left for are reserved.
TokenizerKeys build_tokenizer(int vocab);

// Engram's token -> compressed id: tokens whose text is the same after lower-casing (ASCII),
// joining white space and stripping share an id; ids in first-seen order. A token that is no valid
// text stands for itself.
struct TokenMap {
  std::vector<int> ids;
  int compressed_vocab = 0;
};
TokenMap compress_tokens(const TokenizerKeys& tokenizer);

namespace tokenizer_internal {
// The pieces that merges never cross, for text of ASCII, CJK and punctuation (the model family's
// three splits).
std::vector<std::string> pieces(std::string_view text);
std::string training_text();
}  // namespace tokenizer_internal

}  // namespace rota
