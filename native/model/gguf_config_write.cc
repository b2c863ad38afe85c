// The writing half of gguf_config.h, in the order of the reading half.
#include <string>
#include <vector>

#include "model/gguf_config.h"

namespace rota {
namespace {

// Writes keys with one architecture's prefix.
class KeyWriter {
 public:
  KeyWriter(GgufWriter& writer, const char* architecture, Family family = Family::kOurs)
      : writer_(writer), prefix_(std::string(architecture) + "."), family_(family) {}

  Family family() const { return family_; }
  void u32(const char* key, int value) const {
    writer_.key_u32(prefix_ + std::string(spelled(family_, key)), static_cast<uint32_t>(value));
  }
  // As wide and as signed as the family's files have it.
  void hash_list(const char* key, const std::vector<int64_t>& values) const {
    if (family_ == Family::kOurs) return list(key, values);
    if (family_ == Family::kB) {
      return writer_.key_u64_array(prefix_ + key,
                                   std::vector<uint64_t>(values.begin(), values.end()));
    }
    writer_.key_u32_array(prefix_ + key, std::vector<uint32_t>(values.begin(), values.end()));
  }
  void f32(const char* key, float value) const { writer_.key_f32(prefix_ + key, value); }
  void boolean(const char* key, bool value) const { writer_.key_bool(prefix_ + key, value); }
  void string(const char* key, const char* value) const {
    writer_.key_string(prefix_ + key, value);
  }
  void list(const char* key, const std::vector<int>& values) const {
    writer_.key_i32_array(prefix_ + key, values);
  }
  void list(const char* key, const std::vector<int64_t>& values) const {
    writer_.key_i64_array(prefix_ + key, values);
  }
  void list(const char* key, const std::vector<float>& values) const {
    writer_.key_f32_array(prefix_ + key, values);
  }

 private:
  GgufWriter& writer_;
  std::string prefix_;
  Family family_;
};

void write_shape(const KeyWriter& keys, const Config& c) {
  keys.u32("block_count", c.layers);
  keys.u32("context_length", c.rope_original_len * static_cast<int>(c.rope_factor));
  keys.u32("embedding_length", c.dim);
  keys.u32("vocab_size", c.vocab);
  keys.u32("hyper_connection.count", c.hc_mult);
  keys.u32("hyper_connection.sinkhorn_iterations", c.hc_sinkhorn_iters);
  keys.f32("hyper_connection.epsilon", c.hc_eps);
  keys.u32("hash_layer_count", 0);
}

void write_attention(const KeyWriter& keys, const Config& c) {
  keys.u32("attention.head_count", c.heads);
  keys.u32("attention.head_count_kv", 1);
  keys.u32("attention.key_length", c.head_dim);
  keys.u32("attention.value_length", c.head_dim);
  keys.u32("attention.q_lora_rank", c.q_lora);
  keys.u32("attention.output_lora_rank", c.o_lora);
  keys.u32("attention.output_group_count", c.o_groups);
  keys.u32("attention.sliding_window", c.window);
  keys.f32("attention.layer_norm_rms_epsilon", c.rms_eps);
  keys.list("attention.compress_ratios", c.ratios);
  keys.f32("attention.compress_rope_freq_base", c.compress_theta);
  if (keys.family() != Family::kB) {
    keys.list("attention.kv_source_layer_ids", c.kv_source);
    keys.list("attention.index_source_layer_ids", c.index_source);
  }
  keys.u32("attention.indexer.head_count", c.index_heads);
  keys.u32("attention.indexer.key_length", c.index_head_dim);
  keys.u32("attention.indexer.top_k", c.index_topk);
  if (c.candidate_source < 0) return;
  if (keys.family() != Family::kB) {
    keys.u32("attention.candidate_source_layer_id", c.candidate_source);
  }
  keys.u32("attention.candidate_topk_blocks", c.candidate_blocks);
  keys.u32("attention.candidate_block_size", c.candidate_block_size);
}

void write_rope(const KeyWriter& keys, const Config& c) {
  keys.u32("rope.dimension_count", c.rope_dim);
  keys.f32("rope.freq_base", c.theta);
  keys.string("rope.scaling.type", "yarn");
  keys.f32("rope.scaling.factor", c.rope_factor);
  keys.u32("rope.scaling.original_context_length", c.rope_original_len);
  keys.f32("rope.scaling.yarn_beta_fast", c.yarn_beta_fast);
  keys.f32("rope.scaling.yarn_beta_slow", c.yarn_beta_slow);
}

void write_experts(const KeyWriter& keys, const Config& c) {
  keys.u32("expert_count", c.experts);
  keys.u32("expert_used_count", c.top_k);
  keys.u32("expert_shared_count", 1);
  keys.u32("expert_feed_forward_length", c.moe_inter);
  keys.u32("expert_gating_func", kSqrtSoftplus);
  keys.f32("expert_weights_scale", c.route_scale);
  keys.boolean("expert_weights_norm", true);
  const std::vector<float> limits(static_cast<size_t>(c.layers), c.swiglu_limit);
  keys.list("swiglu_clamp_exp", limits);
  keys.list("swiglu_clamp_shexp", limits);
}

void write_engram(const KeyWriter& keys, const Config& c) {
  keys.list("engram.layer_ids", c.engram_layers);
  keys.u32("engram.n_heads", c.engram_heads);
  keys.u32("engram.head_dim", c.engram_head_dim);
  keys.u32("engram.max_ngram_size", c.engram_max_ngram);
  const bool b = keys.family() == Family::kB;
  keys.u32("engram.pad_token_id", b ? c.engram_pad_id : c.engram_pad_token_id);
  if (!b) {
    keys.u32("engram.compressed_vocab_size", c.engram_compressed_vocab);
    std::vector<int64_t> rows;
    for (size_t i = 0; i < c.engram_layers.size(); ++i) {
      rows.push_back(c.engram_rows(static_cast<int>(i)));
    }
    keys.list("engram.num_embeddings", rows);
  }
  keys.hash_list("engram.primes", c.engram_primes);
  keys.hash_list("engram.offsets", c.engram_offsets);
  if (b) {
    keys.hash_list("engram.multipliers", c.engram_multipliers);
  } else {
    keys.list("engram.multipliers", c.engram_multipliers);
  }
  if (keys.family() == Family::kA) {
    keys.hash_list("engram.token_map", {c.engram_token_map.begin(), c.engram_token_map.end()});
  } else {
    keys.list("engram.token_map", c.engram_token_map);
  }
}

}  // namespace

void write_config(const Config& c, Family family, GgufWriter& writer) {
  writer.key_string("general.architecture", kModelArchitecture);
  writer.key_string("general.name", c.name);
  if (!c.synthetic.empty()) writer.key_string(kSyntheticKey, c.synthetic);
  const KeyWriter keys(writer, kModelArchitecture, family);
  write_shape(keys, c);
  write_attention(keys, c);
  write_rope(keys, c);
  write_experts(keys, c);
  if (c.image_id >= 0) keys.u32("image_token_id", c.image_id);
  if (!c.engram_layers.empty()) write_engram(keys, c);
}

void write_draft_config(const Config& c, GgufWriter& writer) {
  writer.key_string("general.architecture", kDraftArchitecture);
  writer.key_string("general.name", c.name + " DSpark");
  const KeyWriter keys(writer, kDraftArchitecture);
  keys.string("target_model_architecture", kModelArchitecture);
  keys.u32("embedding_length", c.dim);
  keys.u32("vocab_size", c.vocab);
  keys.u32("block_count", c.draft_stages);
  keys.u32("block_size", c.draft_block);
  keys.list("target_layers", c.draft_targets);
  keys.u32("mask_token_id", c.draft_noise_id);
  keys.u32("markov_rank", c.markov_rank);
  keys.u32("expert_count", c.draft_experts);
  keys.u32("expert_used_count", c.draft_top_k);
  keys.u32("expert_feed_forward_length", c.moe_inter);
}

}  // namespace rota
