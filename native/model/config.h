// The numbers that describe one DeepSeek-V4.1 text model. Owns no weights; every size comes from
// here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace rota {

inline constexpr int kMostDraftStages = 16;

struct Config {
  std::string name;
  std::string synthetic;  // of what a model of random weights was made; empty: it is none
  int vocab = 0;
  int dim = 0;  // hidden size D
  int layers = 0;
  int heads = 0, head_dim = 0, rope_dim = 0;
  int q_lora = 0, o_lora = 0, o_groups = 0;
  int window = 0;
  float rms_eps = 1e-20f;
  std::vector<int> ratios;     // layers + draft stages; 0 = window only
  std::vector<int> kv_source;  // layers that own a compressor
  std::vector<int> index_source;
  int index_heads = 0, index_head_dim = 0, index_topk = 0;
  int candidate_source = -1, candidate_blocks = 0,
      candidate_block_size = 0;  // -1: no candidate pool
  float theta = 10000.f, compress_theta = 160000.f, rope_factor = 16.f;
  int rope_original_len = 0;
  float yarn_beta_fast = 32.f, yarn_beta_slow = 1.f;

  int experts = 0, top_k = 0, moe_inter = 0;  // one shared expert always
  float route_scale = 1.5f, swiglu_limit = 10.f;

  int hc_mult = 4, hc_sinkhorn_iters = 20;
  float hc_eps = 1e-6f;

  std::vector<int> engram_layers;
  int engram_max_ngram = 4, engram_heads = 0, engram_head_dim = 0;
  int64_t engram_start =
      0;  // first prime candidate of every (layer, order); 0 when only the tables are known
  int engram_compressed_vocab = 0;
  // What stands before the first token. Files of family A have the raw token id, those of family B
  // the compressed one; -1 where the raw one is not known.
  int engram_pad_token_id = 2;
  int engram_pad_id = 0;  // COMPRESSED id: what the hash takes

  // The hash tables of the Engram, as the file has them. One row per engram layer, in the order of
  // engram_layers.
  std::vector<int> engram_token_map;   // [vocab] -> compressed id
  std::vector<int64_t> engram_primes;  // [engram layers, max_ngram - 1, heads]
  std::vector<int64_t>
      engram_offsets;  // [engram layers, max_ngram - 1, heads], first row of each bucket
  std::vector<int64_t> engram_multipliers;  // [engram layers, max_ngram]

  std::vector<int> draft_targets;  // layers whose attention input feeds DSpark
  int draft_stages = 0, draft_block = 5, draft_noise_id = 0, markov_rank = 0;  // 0 stages: no draft
  int draft_experts = 0, draft_top_k = 0;

  int bos_id = 0, eos_id = 1, pad_id = 2;
  int image_id = -1;  // the token that stands for a piece of an image; -1: the file names none

  // Hash columns of one engram layer: (max_ngram - 1) * heads.
  int engram_columns() const { return (engram_max_ngram - 1) * engram_heads; }
  // Rows of the table of engram layer number `which` (an index into engram_layers).
  int64_t engram_rows(int which) const;
  // Coefficients of one hyper-connection: 2 hc + hc^2.
  int hc_coefficients() const { return hc_mult * (2 + hc_mult); }
  // The layer whose compressed cache `layer` reads; -1 for a window-only layer.
  int kv_owner(int layer) const;
  bool owns_kv(int layer) const;
  bool owns_index(int layer) const;
  // Index into engram_layers, or -1.
  int engram_index(int layer) const;
  // Whether the text model can read this token. kBadRequest: not in the vocabulary. kUnsupported:
  // it stands for an image.
  Status check_token(int token) const;
};

// Everything that must hold between these numbers, tables included: positive, divisible, in range,
// ascending. kLoad naming the field, its value and what was expected.
Status validate_config(const Config& config);

}  // namespace rota
