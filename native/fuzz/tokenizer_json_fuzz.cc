// Fuzz target: tokenizer.json, or after a 'c' tokenizer_config.json. What is accepted has a token
// of its own for every id, in UTF-8. Three of four inputs have one number or word changed.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "fuzz/json_mutator.h"
#include "model/tokenizer_json.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  std::minstd_rand random(seed);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string changed = rota::JsonWords(text).changed(random);
  if (random() % 4 == 0 || changed.empty() || changed.size() > max_size) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with('c')) {
    (void)rota::read_add_bos("t", text.substr(1));
    return 0;
  }
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
