// The reading half of gguf_config.h; gguf_config_write.cc is the other.
#include "model/gguf_config.h"

#include <algorithm>
#include <string>

#include "model/tensor_names.h"

namespace rota {
namespace {

// The candidate pool of the released model. Files of family B need not say it; their readers go
// without a pool, which is the same below 2048 * 8 positions.
constexpr int kReleasedCandidateBlocks = 2048, kReleasedCandidateBlockSize = 8;

// Reads keys with one prefix; the first error sticks and later reads do nothing, so that a reader
// is a list of lines.
class KeyReader {
 public:
  KeyReader(const Gguf& gguf, std::string prefix, Family family = Family::kA)
      : gguf_(gguf), prefix_(std::move(prefix)), family_(family) {}

  void i32(const char* key, int& out) { take(&Gguf::i32, key, out); }
  void f32(const char* key, float& out) { take(&Gguf::f32, key, out); }
  void string(const char* key, std::string& out) { take(&Gguf::string, key, out); }
  void list(const char* key, std::vector<int>& out) { take(&Gguf::i32_array, key, out); }
  void list(const char* key, std::vector<int64_t>& out) { take(&Gguf::i64_array, key, out); }
  // A key that must have one value, because the model has no other way.
  void fixed(const char* key, int expected) {
    int found = expected;
    i32(key, found);
    if (status_.ok() && found != expected) {
      fail(key,
           "is " + std::to_string(found) + ", only " + std::to_string(expected) + " is supported");
    }
  }
  void fail(const char* key, const std::string& message) {
    if (status_.ok()) status_ = gguf_.key_error(name(key), message);
  }
  bool has(const char* key) const { return gguf_.has(name(key)); }
  Family family() const { return family_; }
  Status status() const { return status_; }

 private:
  template <typename T>
  void take(Result<T> (Gguf::*read)(std::string_view) const, const char* key, T& out) {
    if (!status_.ok()) return;
    Result<T> result = (gguf_.*read)(name(key));
    status_ = result.status();
    if (status_.ok()) out = std::move(result).value();
  }

  std::string name(const char* key) const { return prefix_ + std::string(spelled(family_, key)); }

  const Gguf& gguf_;
  std::string prefix_;
  Family family_;
  Status status_;
};

void read_shape(KeyReader& keys, Config& c) {
  keys.i32("block_count", c.layers);
  keys.i32("embedding_length", c.dim);
  keys.i32("vocab_size", c.vocab);
  keys.i32("attention.head_count", c.heads);
  keys.fixed("attention.head_count_kv", 1);
  keys.i32("attention.key_length", c.head_dim);
  keys.i32("attention.q_lora_rank", c.q_lora);
  keys.i32("attention.output_lora_rank", c.o_lora);
  keys.i32("attention.output_group_count", c.o_groups);
  keys.i32("attention.sliding_window", c.window);
  keys.f32("attention.layer_norm_rms_epsilon", c.rms_eps);
  keys.i32("rope.dimension_count", c.rope_dim);
  keys.f32("rope.freq_base", c.theta);
  keys.f32("rope.scaling.factor", c.rope_factor);
  keys.i32("rope.scaling.original_context_length", c.rope_original_len);
  keys.f32("rope.scaling.yarn_beta_fast", c.yarn_beta_fast);
  keys.f32("rope.scaling.yarn_beta_slow", c.yarn_beta_slow);
  keys.i32("hyper_connection.count", c.hc_mult);
  keys.i32("hyper_connection.sinkhorn_iterations", c.hc_sinkhorn_iters);
  keys.f32("hyper_connection.epsilon", c.hc_eps);
}

// Who owns which cache and who publishes which list, from the tensors that only owners have.
void infer_layer_lists(const Gguf& model, Config& c) {
  c.kv_source = layers_with(model, role_suffix(Role::kCompressorKv));
  c.index_source = layers_with(model, role_suffix(Role::kIndexQB));
  // The pool is the last kv source's, for index sources behind it.
  if (!c.kv_source.empty() && !c.index_source.empty() &&
      c.index_source.back() > c.kv_source.back()) {
    c.candidate_source = c.kv_source.back();
  }
}

void read_candidates(KeyReader& keys, Config& c) {
  if (keys.family() == Family::kB) {
    c.candidate_blocks = kReleasedCandidateBlocks;
    c.candidate_block_size = kReleasedCandidateBlockSize;
    if (!keys.has("attention.candidate_topk_blocks")) return;
  } else {
    if (!keys.has("attention.candidate_source_layer_id")) return;
    keys.i32("attention.candidate_source_layer_id", c.candidate_source);
  }
  keys.i32("attention.candidate_topk_blocks", c.candidate_blocks);
  keys.i32("attention.candidate_block_size", c.candidate_block_size);
}

void read_sparse_attention(const Gguf& model, KeyReader& keys, Config& c) {
  keys.list("attention.compress_ratios", c.ratios);
  keys.f32("attention.compress_rope_freq_base", c.compress_theta);
  if (keys.family() == Family::kB) {
    infer_layer_lists(model, c);
  } else {
    keys.list("attention.kv_source_layer_ids", c.kv_source);
    keys.list("attention.index_source_layer_ids", c.index_source);
  }
  keys.i32("attention.indexer.head_count", c.index_heads);
  keys.i32("attention.indexer.key_length", c.index_head_dim);
  keys.i32("attention.indexer.top_k", c.index_topk);
  read_candidates(keys, c);
}

void read_experts(KeyReader& keys, Config& c) {
  keys.i32("expert_count", c.experts);
  keys.i32("expert_used_count", c.top_k);
  keys.fixed("expert_shared_count", 1);
  keys.i32("expert_feed_forward_length", c.moe_inter);
  keys.fixed("expert_gating_func", kSqrtSoftplus);
  keys.f32("expert_weights_scale", c.route_scale);
}

void read_compressed_vocab(KeyReader& keys, Config& c) {
  if (keys.family() != Family::kB || keys.has("engram.compressed_vocab_size")) {
    keys.i32("engram.compressed_vocab_size", c.engram_compressed_vocab);
  } else if (keys.status().ok() && !c.engram_token_map.empty()) {
    const int last = *std::max_element(c.engram_token_map.begin(), c.engram_token_map.end());
    c.engram_compressed_vocab = last < 0 || last >= c.vocab ? c.vocab : last + 1;
  }
}

// The trap: A's pad goes through the token map, B's has gone through it already.
void read_pad(KeyReader& keys, Config& c) {
  if (keys.family() == Family::kB) {
    c.engram_pad_token_id = -1;
    keys.i32("engram.pad_token_id", c.engram_pad_id);
    return;
  }
  keys.i32("engram.pad_token_id", c.engram_pad_token_id);
  if (!keys.status().ok()) return;
  const auto raw = static_cast<size_t>(c.engram_pad_token_id);
  if (c.engram_pad_token_id < 0 || raw >= c.engram_token_map.size()) {
    keys.fail("engram.pad_token_id", "is " + std::to_string(c.engram_pad_token_id) +
                                         ", expected a token id below " +
                                         std::to_string(c.engram_token_map.size()));
    return;
  }
  c.engram_pad_id = c.engram_token_map[raw];
}

void read_engram(KeyReader& keys, Config& c) {
  if (!keys.has("engram.layer_ids")) return;
  keys.list("engram.layer_ids", c.engram_layers);
  keys.i32("engram.n_heads", c.engram_heads);
  keys.i32("engram.head_dim", c.engram_head_dim);
  keys.i32("engram.max_ngram_size", c.engram_max_ngram);
  keys.list("engram.primes", c.engram_primes);
  keys.list("engram.offsets", c.engram_offsets);
  keys.list("engram.multipliers", c.engram_multipliers);
  keys.list("engram.token_map", c.engram_token_map);
  read_compressed_vocab(keys, c);
  read_pad(keys, c);
}

// One limit a layer in the file, one limit in the config: they must agree.
Status read_swiglu_limit(const Gguf& gguf, Config& c) {
  const std::string key = std::string(kModelArchitecture) + ".swiglu_clamp_exp";
  ROTA_ASSIGN_OR_RETURN(const std::vector<float> limits, gguf.f32_array(key));
  // The list may go on over the draft stages.
  if (limits.empty() || limits.size() < static_cast<size_t>(std::max(0, c.layers))) {
    return gguf.key_error(key, "has " + std::to_string(limits.size()) + " values for " +
                                   std::to_string(c.layers) + " layers");
  }
  for (const float limit : limits) {
    if (limit != limits.front()) return gguf.key_error(key, "differs between layers");
  }
  c.swiglu_limit = limits.front();
  return Status();
}

// What a sidecar may leave to its tensors.
void read_markov(const Gguf& sidecar, KeyReader& keys, Config& c, int& vocab) {
  const GgufTensor* const table = sidecar.tensor(role_suffix(Role::kMarkovEmbed));
  const auto size = [&](const char* key, int axis, int& out) {
    const uint64_t found = table == nullptr ? 0 : table->ne[static_cast<size_t>(axis)];
    if (keys.has(key) || found == 0 || found > INT32_MAX) {
      keys.i32(key, out);
    } else {
      out = static_cast<int>(found);
    }
  };
  size("markov_rank", 0, c.markov_rank);
  size("vocab_size", 1, vocab);
}

void read_noise_id(const Gguf& sidecar, KeyReader& keys, Config& c) {
  KeyReader general(sidecar, "");
  constexpr const char* kElsewhere = "tokenizer.ggml.mask_token_id";
  if (!keys.has("mask_token_id") && general.has(kElsewhere)) {
    general.i32(kElsewhere, c.draft_noise_id);
  } else {
    keys.i32("mask_token_id", c.draft_noise_id);
  }
}

}  // namespace

Status check_architecture(const Gguf& gguf, const char* expected) {
  ROTA_ASSIGN_OR_RETURN(const std::string found, gguf.string("general.architecture"));
  if (found == expected) return Status();
  return gguf.key_error("general.architecture",
                        "is \"" + found + "\", expected \"" + expected + "\"");
}

Result<Config> read_config(const Gguf& model, Family family) {
  ROTA_RETURN_IF_ERROR(check_architecture(model, kModelArchitecture));
  Config c;
  KeyReader keys(model, std::string(kModelArchitecture) + ".", family);
  read_shape(keys, c);
  read_sparse_attention(model, keys, c);
  read_experts(keys, c);
  read_engram(keys, c);
  ROTA_RETURN_IF_ERROR(keys.status());
  ROTA_RETURN_IF_ERROR(read_swiglu_limit(model, c));
  KeyReader general(model, "");
  if (general.has("general.name")) general.string("general.name", c.name);
  if (general.has(kSyntheticKey)) general.string(kSyntheticKey, c.synthetic);
  general.i32("tokenizer.ggml.bos_token_id", c.bos_id);
  general.i32("tokenizer.ggml.eos_token_id", c.eos_id);
  if (general.has("tokenizer.ggml.padding_token_id")) {
    general.i32("tokenizer.ggml.padding_token_id", c.pad_id);
  }
  // Beside the other sizes as config.json has it, or among the tokenizer's special tokens.
  if (keys.has("image_token_id")) {
    keys.i32("image_token_id", c.image_id);
  } else if (general.has("tokenizer.ggml.image_token_id")) {
    general.i32("tokenizer.ggml.image_token_id", c.image_id);
  }
  ROTA_RETURN_IF_ERROR(keys.status());
  ROTA_RETURN_IF_ERROR(general.status());
  // The list goes on over the draft stages; those belong to the sidecar.
  if (c.layers > 0 && c.ratios.size() > static_cast<size_t>(c.layers)) {
    c.ratios.resize(static_cast<size_t>(c.layers));
  }
  ROTA_RETURN_IF_ERROR(validate_config(c).with_context(model.shards().front().path()));
  return c;
}

Status read_draft_config(const Gguf& model, const Gguf& sidecar, Config& config) {
  ROTA_RETURN_IF_ERROR(check_architecture(sidecar, kDraftArchitecture));
  const std::string& path = sidecar.shards().front().path();
  Config c = config;
  KeyReader keys(sidecar, std::string(kDraftArchitecture) + ".");
  std::string target;
  int dim = 0, vocab = 0;
  keys.string("target_model_architecture", target);
  keys.i32("embedding_length", dim);
  read_markov(sidecar, keys, c, vocab);
  keys.i32("block_count", c.draft_stages);
  keys.i32("block_size", c.draft_block);
  keys.list("target_layers", c.draft_targets);
  read_noise_id(sidecar, keys, c);
  keys.i32("expert_count", c.draft_experts);
  keys.i32("expert_used_count", c.draft_top_k);
  ROTA_RETURN_IF_ERROR(keys.status());
  if (target != kModelArchitecture || dim != config.dim || vocab != config.vocab) {
    return Status(Code::kLoad, path + ": this sidecar drafts for a " + target + " of width " +
                                   std::to_string(dim) + " and vocabulary " +
                                   std::to_string(vocab) + ", not for " +
                                   model.shards().front().path());
  }
  // Before anything is sized by it.
  if (c.draft_stages < 1 || c.draft_stages > kMostDraftStages) {
    return Status(Code::kLoad, path + ": the sidecar has " + std::to_string(c.draft_stages) +
                                   " stages, not 1 to " + std::to_string(kMostDraftStages));
  }
  c.ratios.resize(static_cast<size_t>(c.layers) + static_cast<size_t>(c.draft_stages), 0);
  ROTA_RETURN_IF_ERROR(validate_config(c).with_context(path));
  config = std::move(c);
  return Status();
}

}  // namespace rota
