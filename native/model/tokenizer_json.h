// tokenizer.json and tokenizer_config.json of a checkpoint -> a GGUF's tokenizer keys. Pure text;
// encodes nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/tokenizer_keys.h"

namespace rota {

struct ReadTokenizer {
  std::optional<TokenizerKeys> keys;
  // Where there are no keys: what about this tokenizer no GGUF key says.
  std::string why_not;
};

// `vocab` ids; those that the tokenizer leaves out become reserved tokens. kLoad, with `path`, for
// what is damaged; a tokenizer that is whole but of another kind has no keys.
Result<ReadTokenizer> read_tokenizer_json(const std::string& path, std::string_view text,
                                          int vocab);
// add_bos_token of tokenizer_config.json; true where it does not say.
Result<bool> read_add_bos(const std::string& path, std::string_view text);

}  // namespace rota
