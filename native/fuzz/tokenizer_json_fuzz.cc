// Fuzz target: tokenizer.json. What is accepted has a token of its own for every id, in UTF-8.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "model/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)rota::read_add_bos("t", text);
  constexpr int kVocab = 16;
  const auto read = rota::read_tokenizer_json("t", text, kVocab);
  if (!read.ok()) return 0;
  ROTA_CHECK(read.value().keys.has_value() == read.value().why_not.empty(), read.value().why_not);
  if (!read.value().keys) return 0;
  const rota::TokenizerKeys& keys = *read.value().keys;
  ROTA_CHECK(keys.tokens.size() == kVocab && keys.types.size() == kVocab, keys.tokens.size());
  for (size_t id = 0; id < keys.tokens.size(); ++id) {
    ROTA_CHECK(rota::is_utf8(keys.tokens[id]), id);
  }
  return 0;
}
