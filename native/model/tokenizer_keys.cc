// The writing, key by key.
#include "model/tokenizer_keys.h"

namespace rota {

void write_tokenizer_keys(const Config& config, const TokenizerKeys* tokenizer,
                          GgufWriter& writer) {
  writer.key_u32("tokenizer.ggml.bos_token_id", static_cast<uint32_t>(config.bos_id));
  writer.key_u32("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(config.eos_id));
  writer.key_u32("tokenizer.ggml.padding_token_id", static_cast<uint32_t>(config.pad_id));
  if (tokenizer == nullptr) return;
  writer.key_string("tokenizer.ggml.model", "gpt2");
  writer.key_string("tokenizer.ggml.pre", "joyai-llm");
  writer.key_string_array("tokenizer.ggml.tokens", tokenizer->tokens);
  writer.key_i32_array("tokenizer.ggml.token_type", tokenizer->types);
  writer.key_string_array("tokenizer.ggml.merges", tokenizer->merges);
  writer.key_bool("tokenizer.ggml.add_bos_token", tokenizer->add_bos);
}

}  // namespace rota
