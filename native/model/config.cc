// The rules between a config's numbers, field by field.
#include "model/config.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/check.h"

namespace rota {
namespace {

bool contains(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

Status wrong(const std::string& field, const std::string& found, const std::string& expected) {
  return Status(Code::kLoad, "config: " + field + " is " + found + ", expected " + expected);
}
Status wrong(const std::string& field, int64_t found, const std::string& expected) {
  return wrong(field, std::to_string(found), expected);
}

Status check_range(const char* field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return Status();
  return wrong(field, value, std::to_string(low) + " to " + std::to_string(high));
}

Status check_multiple(const char* field, int value, int divisor) {
  if (value % divisor == 0) return Status();
  return wrong(field, value, "a multiple of " + std::to_string(divisor));
}

// Layers of a list: strictly ascending, inside the model.
Status check_layer_list(const char* field, const std::vector<int>& list, int layers) {
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string at = std::string(field) + "[" + std::to_string(i) + "]";
    if (list[i] < 0 || list[i] >= layers) {
      return wrong(at, list[i], "a layer below " + std::to_string(layers));
    }
    if (i > 0 && list[i] <= list[i - 1]) return wrong(at, list[i], "an ascending list");
  }
  return Status();
}

// Bounds that keep every product of two sizes inside 64 bits and every index inside an int.
Status check_sizes(const Config& c) {
  constexpr int kMost = 1 << 24;
  const std::pair<const char*, int> positive[] = {
      {"vocab", c.vocab},         {"dim", c.dim},
      {"layers", c.layers},       {"heads", c.heads},
      {"head_dim", c.head_dim},   {"rope_dim", c.rope_dim},
      {"q_lora", c.q_lora},       {"o_lora", c.o_lora},
      {"o_groups", c.o_groups},   {"window", c.window},
      {"experts", c.experts},     {"top_k", c.top_k},
      {"moe_inter", c.moe_inter}, {"hc_sinkhorn_iters", c.hc_sinkhorn_iters},
  };
  for (const auto& [field, value] : positive) {
    ROTA_RETURN_IF_ERROR(check_range(field, value, 1, kMost));
  }
  ROTA_RETURN_IF_ERROR(check_range("layers", c.layers, 1, 1024));
  ROTA_RETURN_IF_ERROR(check_range("hc_mult", c.hc_mult, 1, 8));
  ROTA_RETURN_IF_ERROR(check_range("top_k", c.top_k, 1, c.experts));
  ROTA_RETURN_IF_ERROR(check_multiple("rope_dim", c.rope_dim, 2));
  ROTA_RETURN_IF_ERROR(check_range("rope_dim", c.rope_dim, 2, c.head_dim));
  ROTA_RETURN_IF_ERROR(check_multiple("head_dim", c.head_dim, 32));  // blocks of the KV rounding
  ROTA_RETURN_IF_ERROR(check_multiple("heads", c.heads, c.o_groups));
  ROTA_RETURN_IF_ERROR(check_range("bos_id", c.bos_id, 0, c.vocab - 1));
  ROTA_RETURN_IF_ERROR(check_range("eos_id", c.eos_id, 0, c.vocab - 1));
  ROTA_RETURN_IF_ERROR(check_range("image_id", c.image_id, -1, c.vocab - 1));
  return check_range("pad_id", c.pad_id, 0, c.vocab - 1);
}

Status check_numbers(const Config& c) {
  const std::pair<const char*, float> positive[] = {
      {"rms_eps", c.rms_eps},
      {"theta", c.theta},
      {"compress_theta", c.compress_theta},
      {"rope_factor", c.rope_factor},
      {"route_scale", c.route_scale},
      {"swiglu_limit", c.swiglu_limit},
      {"hc_eps", c.hc_eps},
      {"yarn_beta_fast", c.yarn_beta_fast},
      {"yarn_beta_slow", c.yarn_beta_slow},
  };
  for (const auto& [field, value] : positive) {
    // Also refuses NaN and infinity.
    if (!(value > 0.f && value < 1e30f))
      return wrong(field, std::to_string(value), "a positive number");
  }
  return Status();
}

// Who owns which compressed cache, and who publishes which list.
Status check_attention_plan(const Config& c) {
  const auto expected_ratios = static_cast<size_t>(c.layers + c.draft_stages);
  if (c.ratios.size() != expected_ratios) {
    return wrong("the length of ratios", static_cast<int64_t>(c.ratios.size()),
                 std::to_string(expected_ratios) + " (layers + draft stages)");
  }
  for (size_t i = 0; i < c.ratios.size(); ++i) {
    const int highest = i < static_cast<size_t>(c.layers) ? 2 : 0;
    ROTA_RETURN_IF_ERROR(check_range("ratios", c.ratios[i], 0, highest));
  }
  ROTA_RETURN_IF_ERROR(check_layer_list("kv_source", c.kv_source, c.layers));
  ROTA_RETURN_IF_ERROR(check_layer_list("index_source", c.index_source, c.layers));
  for (const int layer : c.kv_source) {
    if (!contains(c.index_source, layer)) {
      return wrong("kv_source layer " + std::to_string(layer), "no index source",
                   "every kv source to be an index source");
    }
  }
  for (int layer = 0; layer < c.layers; ++layer) {
    const int ratio = c.ratios[static_cast<size_t>(layer)];
    const std::string name = "ratio of layer " + std::to_string(layer);
    if (ratio == 0) {
      if (contains(c.index_source, layer))
        return wrong(name, ratio, "1 or 2, it is an index source");
      continue;
    }
    const int owner = c.kv_owner(layer);
    if (owner < 0) return wrong(name, ratio, "0, no kv source comes before it");
    const int owner_ratio = c.ratios[static_cast<size_t>(owner)];
    if (owner_ratio != ratio) {
      return wrong(name, ratio,
                   std::to_string(owner_ratio) + " as its kv source, layer " +
                       std::to_string(owner) + ", has");
    }
  }
  return Status();
}

Status check_indexer(const Config& c) {
  if (c.index_source.empty()) return Status();
  ROTA_RETURN_IF_ERROR(check_range("index_heads", c.index_heads, 1, 4096));
  ROTA_RETURN_IF_ERROR(check_range("index_topk", c.index_topk, 1, 1 << 24));
  ROTA_RETURN_IF_ERROR(check_range("index_head_dim", c.index_head_dim, c.rope_dim, 1 << 16));
  ROTA_RETURN_IF_ERROR(check_multiple("index_head_dim", c.index_head_dim, 32));
  ROTA_RETURN_IF_ERROR(check_range("rope_original_len", c.rope_original_len, 1, 1 << 30));
  if (c.candidate_source < 0) return Status();
  if (c.kv_source.empty() || c.kv_source.back() != c.candidate_source) {
    return wrong("candidate_source", c.candidate_source, "the last kv source");
  }
  ROTA_RETURN_IF_ERROR(check_range("candidate_blocks", c.candidate_blocks, 1, 1 << 24));
  ROTA_RETURN_IF_ERROR(check_range("candidate_block_size", c.candidate_block_size, 1, 1 << 16));
  // With a smaller pool a list would have to take positions outside it, where implementations
  // disagree.
  const int64_t pool = int64_t{c.candidate_blocks - 1} * c.candidate_block_size + 1;
  if (pool < c.index_topk) {
    return wrong("(candidate_blocks - 1) * candidate_block_size + 1", pool,
                 "at least index_topk, " + std::to_string(c.index_topk));
  }
  return Status();
}

Status check_engram_tables(const Config& c) {
  const size_t layers = c.engram_layers.size();
  const auto columns = static_cast<size_t>(c.engram_columns());
  const std::pair<const char*, std::pair<size_t, size_t>> lengths[] = {
      {"engram_token_map", {c.engram_token_map.size(), static_cast<size_t>(c.vocab)}},
      {"engram_primes", {c.engram_primes.size(), layers * columns}},
      {"engram_offsets", {c.engram_offsets.size(), layers * columns}},
      {"engram_multipliers",
       {c.engram_multipliers.size(), layers * static_cast<size_t>(c.engram_max_ngram)}},
  };
  for (const auto& [field, length] : lengths) {
    if (length.first != length.second) {
      return wrong("the length of " + std::string(field), static_cast<int64_t>(length.first),
                   std::to_string(length.second));
    }
  }
  for (const int id : c.engram_token_map) {
    ROTA_RETURN_IF_ERROR(check_range("engram_token_map", id, 0, c.engram_compressed_vocab - 1));
  }
  for (const int64_t multiplier : c.engram_multipliers) {
    // Products with a compressed id must not leave int64.
    ROTA_RETURN_IF_ERROR(
        check_range("engram_multipliers", multiplier, 1, INT64_MAX / c.engram_compressed_vocab));
  }
  for (size_t i = 0; i < c.engram_primes.size(); ++i) {
    ROTA_RETURN_IF_ERROR(check_range("engram_primes", c.engram_primes[i], 1, int64_t{1} << 40));
    const int64_t expected =
        i % columns == 0 ? 0 : c.engram_offsets[i - 1] + c.engram_primes[i - 1];
    if (c.engram_offsets[i] != expected) {
      return wrong("engram_offsets[" + std::to_string(i) + "]", c.engram_offsets[i],
                   std::to_string(expected) + ", the sum of the primes before it");
    }
  }
  return Status();
}

Status check_engram(const Config& c) {
  if (c.engram_layers.empty()) return Status();
  ROTA_RETURN_IF_ERROR(check_layer_list("engram_layers", c.engram_layers, c.layers));
  ROTA_RETURN_IF_ERROR(check_range("engram_max_ngram", c.engram_max_ngram, 2, 16));
  ROTA_RETURN_IF_ERROR(check_range("engram_heads", c.engram_heads, 1, 256));
  ROTA_RETURN_IF_ERROR(check_range("engram_head_dim", c.engram_head_dim, 1, 1 << 16));
  ROTA_RETURN_IF_ERROR(
      check_range("engram_compressed_vocab", c.engram_compressed_vocab, 1, c.vocab));
  ROTA_RETURN_IF_ERROR(
      check_range("engram_pad_id", c.engram_pad_id, 0, c.engram_compressed_vocab - 1));
  return check_engram_tables(c);
}

Status check_draft(const Config& c) {
  ROTA_RETURN_IF_ERROR(check_range("draft_stages", c.draft_stages, 0, kMostDraftStages));
  if (c.draft_stages == 0) return Status();
  ROTA_RETURN_IF_ERROR(check_layer_list("draft_targets", c.draft_targets, c.layers));
  if (c.draft_targets.empty()) return wrong("draft_targets", "empty", "at least one layer");
  ROTA_RETURN_IF_ERROR(check_range("draft_block", c.draft_block, 1, 64));
  ROTA_RETURN_IF_ERROR(check_range("draft_noise_id", c.draft_noise_id, 0, c.vocab - 1));
  ROTA_RETURN_IF_ERROR(check_range("markov_rank", c.markov_rank, 1, 1 << 16));
  ROTA_RETURN_IF_ERROR(check_range("draft_experts", c.draft_experts, 1, 1 << 16));
  return check_range("draft_top_k", c.draft_top_k, 1, c.draft_experts);
}

}  // namespace

int64_t Config::engram_rows(int which) const {
  const auto last = static_cast<size_t>((which + 1) * engram_columns() - 1);
  ROTA_CHECK(which >= 0 && last < engram_primes.size(), "engram layer number", which);
  return engram_offsets[last] + engram_primes[last];
}

int Config::kv_owner(int layer) const {
  if (ratios[static_cast<size_t>(layer)] == 0) return -1;
  int owner = -1;
  for (const int source : kv_source) {
    if (source <= layer) owner = source;
  }
  return owner;
}

bool Config::owns_kv(int layer) const { return contains(kv_source, layer); }
bool Config::owns_index(int layer) const { return contains(index_source, layer); }

Status Config::check_token(int token) const {
  if (token < 0 || token >= vocab) {
    return Status(Code::kBadRequest, "token " + std::to_string(token) +
                                         " is outside the vocabulary of " + std::to_string(vocab));
  }
  if (token == image_id) {
    return Status(Code::kUnsupported, "token " + std::to_string(token) +
                                          " stands for an image: vision is not supported, the "
                                          "engine serves the text model alone");
  }
  return Status();
}

int Config::engram_index(int layer) const {
  const auto found = std::find(engram_layers.begin(), engram_layers.end(), layer);
  return found == engram_layers.end() ? -1 : static_cast<int>(found - engram_layers.begin());
}

Status validate_config(const Config& config) {
  ROTA_RETURN_IF_ERROR(check_sizes(config));
  ROTA_RETURN_IF_ERROR(check_numbers(config));
  ROTA_RETURN_IF_ERROR(check_draft(config));
  ROTA_RETURN_IF_ERROR(check_attention_plan(config));
  ROTA_RETURN_IF_ERROR(check_indexer(config));
  return check_engram(config);
}

}  // namespace rota
