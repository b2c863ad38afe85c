// Keys of config.json, in the order in which the release has them.
#include "model/checkpoint_config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/engram_tables.h"

namespace rota {
namespace {

using Json = nlohmann::json;

// Where the primes of the Engram's tables begin; the search for them is by trial division.
constexpr int kMostEngramStart = 1 << 28, kMostEngramColumns = 4096;

// Reads the keys of one object; the first error sticks and later reads do nothing, so that a reader
// is a list of lines.
class JsonKeys {
 public:
  JsonKeys(const std::string& path, const Json& object, std::string prefix)
      : path_(path), object_(object), prefix_(std::move(prefix)) {}

  // A key that is null is as good as none.
  bool has(const char* key) const { return object_.contains(key) && !object_[key].is_null(); }
  void i32(const char* key, int& out) {
    if (const Json* value = require(key)) whole(key, *value, out);
  }
  void f32(const char* key, float& out) {
    const Json* const value = require(key);
    if (value == nullptr) return;
    if (!value->is_number()) return fail(key, "is no number");
    const double number = value->get<double>();
    if (std::fabs(number) > std::numeric_limits<float>::max()) return fail(key, "is out of range");
    out = static_cast<float>(number);
  }
  void list(const char* key, std::vector<int>& out) {
    const Json* const value = require(key);
    if (value == nullptr) return;
    if (!value->is_array()) return fail(key, "is no list");
    for (const Json& item : *value) whole(key, item, out.emplace_back());
  }
  // The model has no other way; a key that is missing says nothing against it.
  void only(const char* key, const Json& expected) {
    if (!status_.ok() || !has(key) || object_[key] == expected) return;
    fail(key, "is not " + expected.dump() + ", which alone is supported");
  }
  // An object below this one.
  JsonKeys below(const char* key) {
    static const Json kNothing = Json::object();
    const Json* const value = require(key);
    if (value != nullptr && !value->is_object()) fail(key, "is no object");
    const bool good = value != nullptr && value->is_object();
    return JsonKeys(path_, good ? *value : kNothing, prefix_ + key + ".");
  }
  void take(const Status& other) {
    if (status_.ok()) status_ = other;
  }
  const Status& status() const { return status_; }

 private:
  const Json* require(const char* key) {
    if (!status_.ok()) return nullptr;
    if (has(key)) return &object_[key];
    fail(key, "is missing");
    return nullptr;
  }
  void whole(const char* key, const Json& value, int& out) {
    if (!value.is_number_integer()) return fail(key, "is no whole number");
    const bool large = value.is_number_unsigned() ? value.get<uint64_t>() > INT32_MAX
                                                  : value.get<int64_t>() < INT32_MIN;
    if (large) return fail(key, "is out of range");
    out = value.get<int>();
  }
  void fail(const char* key, const std::string& message) {
    if (status_.ok()) status_ = Status(Code::kLoad, path_ + ": " + prefix_ + key + " " + message);
  }

  const std::string& path_;
  const Json& object_;
  std::string prefix_;
  Status status_;
};

Result<Json> parse_object(const std::string& path, std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Status(Code::kLoad, path + ": is no JSON (is it whole?)");
  if (!json.is_object()) return Status(Code::kLoad, path + ": is no JSON object");
  return json;
}

void read_shape(JsonKeys& keys, Config& c) {
  keys.only("model_type", "deepseek_v41_text");
  keys.i32("vocab_size", c.vocab);
  keys.i32("hidden_size", c.dim);
  keys.i32("num_hidden_layers", c.layers);
  keys.i32("moe_intermediate_size", c.moe_inter);
  keys.i32("num_attention_heads", c.heads);
  keys.only("num_key_value_heads", 1);
  keys.i32("head_dim", c.head_dim);
  keys.i32("qk_rope_head_dim", c.rope_dim);
  keys.i32("q_lora_rank", c.q_lora);
  keys.i32("o_lora_rank", c.o_lora);
  keys.i32("o_groups", c.o_groups);
  keys.only("hidden_act", "silu");
  keys.f32("swiglu_limit", c.swiglu_limit);
  keys.f32("rms_norm_eps", c.rms_eps);
  keys.only("attention_bias", false);
  keys.f32("rope_theta", c.theta);
  keys.f32("compress_rope_theta", c.compress_theta);
  JsonKeys scaling = keys.below("rope_scaling");
  if (!keys.status().ok()) return;
  scaling.only("type", "yarn");
  scaling.only("rope_type", "yarn");
  scaling.f32("factor", c.rope_factor);
  scaling.f32("beta_fast", c.yarn_beta_fast);
  scaling.f32("beta_slow", c.yarn_beta_slow);
  scaling.i32("original_max_position_embeddings", c.rope_original_len);
  keys.take(scaling.status());
  keys.i32("sliding_window", c.window);
}

void read_experts(JsonKeys& keys, Config& c) {
  keys.i32("n_routed_experts", c.experts);
  keys.only("n_shared_experts", 1);
  keys.i32("num_experts_per_tok", c.top_k);
  keys.only("scoring_func", "sqrtsoftplus");
  keys.only("topk_method", "noaux_tc");
  keys.only("norm_topk_prob", true);
  keys.f32("routed_scaling_factor", c.route_scale);
}

void read_sparse_attention(JsonKeys& keys, Config& c) {
  keys.list("compress_ratios", c.ratios);
  keys.list("kv_source_layer_ids", c.kv_source);
  keys.list("index_source_layer_ids", c.index_source);
  keys.i32("index_n_heads", c.index_heads);
  keys.i32("index_head_dim", c.index_head_dim);
  keys.i32("index_topk", c.index_topk);
  if (keys.has("candidate_source_layer_id")) {
    keys.i32("candidate_source_layer_id", c.candidate_source);
    keys.i32("candidate_topk_blocks", c.candidate_blocks);
    keys.i32("candidate_block_size", c.candidate_block_size);
  }
  keys.i32("hc_mult", c.hc_mult);
  keys.i32("hc_sinkhorn_iters", c.hc_sinkhorn_iters);
  keys.f32("hc_eps", c.hc_eps);
}

void read_engram(JsonKeys& keys, CheckpointConfig& read) {
  Config& c = read.config;
  if (!keys.has("engram_layer_ids")) return;
  keys.list("engram_layer_ids", c.engram_layers);
  if (c.engram_layers.empty()) return;
  int start = 0;
  keys.i32("engram_vocab_size", start);
  c.engram_start = start;
  keys.i32("engram_max_ngram_size", c.engram_max_ngram);
  keys.i32("engram_n_heads", c.engram_heads);
  keys.i32("engram_head_dim", c.engram_head_dim);
  keys.i32("engram_pad_token_id", c.engram_pad_token_id);
  keys.i32("engram_compressed_vocab_size", c.engram_compressed_vocab);
  if (!keys.has("engram_num_embeddings")) return;
  std::vector<int> rows;
  keys.list("engram_num_embeddings", rows);
  read.engram_rows.assign(rows.begin(), rows.end());
}

void read_draft(JsonKeys& keys, Config& c) {
  if (!keys.has("num_nextn_predict_layers")) return;
  keys.i32("num_nextn_predict_layers", c.draft_stages);
  if (c.draft_stages == 0) return;
  keys.i32("dspark_block_size", c.draft_block);
  keys.i32("dspark_noise_token_id", c.draft_noise_id);
  keys.list("dspark_target_layer_ids", c.draft_targets);
  keys.i32("dspark_markov_rank", c.markov_rank);
  keys.i32("dspark_n_routed_experts", c.draft_experts);
  keys.i32("dspark_num_experts_per_tok", c.draft_top_k);
}

// What the release is quantised by. The tensors' own types are checked one by one; this says in a
// word what is wrong with a checkpoint of another scheme.
Status check_scheme(JsonKeys& top) {
  if (!top.has("quantization_config")) return top.status();
  JsonKeys keys = top.below("quantization_config");
  keys.only("quant_method", "fp8");
  keys.only("weight_block_size", Json::array({32, 32}));
  keys.only("scale_fmt", "ue8m0");
  keys.only("expert_dtype", "fp4");
  top.take(keys.status());
  return top.status();
}

// What has to hold before a table is derived or a list is indexed.
Status check_engram_bounds(const std::string& path, const Config& c) {
  if (c.engram_layers.empty()) return Status();
  const auto fail = [&](const char* key, int64_t value, const std::string& expected) {
    return Status(Code::kLoad, path + ": text_config." + key + " is " + std::to_string(value) +
                                   ", expected " + expected);
  };
  const auto range = [&](const char* key, int64_t value, int64_t low, int64_t high) {
    if (value >= low && value <= high) return Status();
    return fail(key, value, std::to_string(low) + " to " + std::to_string(high));
  };
  ROTA_RETURN_IF_ERROR(range("engram_vocab_size", c.engram_start, 2, kMostEngramStart));
  ROTA_RETURN_IF_ERROR(range("engram_pad_token_id", c.engram_pad_token_id, 0, c.vocab - 1));
  ROTA_RETURN_IF_ERROR(
      range("engram_compressed_vocab_size", c.engram_compressed_vocab, 1, c.vocab));
  ROTA_RETURN_IF_ERROR(range("engram_max_ngram_size", c.engram_max_ngram, 2, 16));
  ROTA_RETURN_IF_ERROR(range("engram_n_heads", c.engram_heads, 1, 256));
  const auto layers = static_cast<int64_t>(c.engram_layers.size());
  if (layers * c.engram_columns() <= kMostEngramColumns) return Status();
  return fail("the number of engram_layer_ids", layers,
              "at most " + std::to_string(kMostEngramColumns / c.engram_columns()));
}

std::string list_text(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

}  // namespace

Result<CheckpointConfig> read_checkpoint_config(const std::string& path, std::string_view text) {
  ROTA_ASSIGN_OR_RETURN(const Json json, parse_object(path, text));
  JsonKeys top(path, json, "");
  top.only("model_type", "deepseek_v41");
  CheckpointConfig read;
  Config& c = read.config;
  top.i32("bos_token_id", c.bos_id);
  top.i32("eos_token_id", c.eos_id);
  top.i32("pad_token_id", c.pad_id);
  if (top.has("image_token_id")) top.i32("image_token_id", c.image_id);
  top.only("tie_word_embeddings", false);
  ROTA_RETURN_IF_ERROR(check_scheme(top));
  JsonKeys keys = top.below("text_config");
  ROTA_RETURN_IF_ERROR(top.status());
  read_shape(keys, c);
  read_experts(keys, c);
  read_sparse_attention(keys, c);
  read_engram(keys, read);
  read_draft(keys, c);
  ROTA_RETURN_IF_ERROR(keys.status());
  ROTA_RETURN_IF_ERROR(check_engram_bounds(path, c));
  c.name = "deepseek-v41-" + std::to_string(c.layers) + "x" + std::to_string(c.dim);
  return read;
}

Status read_token_map(const std::string& path, std::string_view text, CheckpointConfig& read) {
  Config& c = read.config;
  ROTA_ASSIGN_OR_RETURN(const Json json, parse_object(path, text));
  JsonKeys keys(path, json, "");
  std::vector<int> map;
  keys.list("token_map", map);
  ROTA_RETURN_IF_ERROR(keys.status());
  const auto fail = [&](const std::string& message) {
    return Status(Code::kLoad, path + ": token_map " + message);
  };
  if (map.size() != static_cast<size_t>(c.vocab)) {
    return fail("has " + std::to_string(map.size()) + " entries, config.json a vocabulary of " +
                std::to_string(c.vocab));
  }
  const int last = map.empty() ? -1 : *std::max_element(map.begin(), map.end());
  if (last != c.engram_compressed_vocab - 1) {  // `last` may be the largest int
    return fail("ends at id " + std::to_string(last) + ", config.json has " +
                std::to_string(c.engram_compressed_vocab) + " compressed ids");
  }
  c.engram_pad_id = map[static_cast<size_t>(c.engram_pad_token_id)];
  c.engram_token_map = std::move(map);
  EngramTables tables = derive_engram_tables(c);
  c.engram_primes = std::move(tables.primes);
  c.engram_offsets = std::move(tables.offsets);
  c.engram_multipliers = std::move(tables.multipliers);
  if (read.engram_rows.empty() || read.engram_rows == tables.rows) return Status();
  return Status(Code::kLoad, path + ": the Engram tables have " + list_text(tables.rows) +
                                 " rows by engram_vocab_size, config.json says " +
                                 list_text(read.engram_rows));
}

}  // namespace rota
