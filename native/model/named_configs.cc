// The configurations, number by number.
#include "model/named_configs.h"

#include <algorithm>

namespace rota {
namespace {

// Two alternating sources, pool, shared lists, both ratios, Engram and draft in 8 layers:
// SWA SWA FULL2 REUSE FULL2 FULL1+pool REUSE REINDEX.
void eight_layer_plan(Config& c) {
  c.layers = 8;
  c.ratios = {0, 0, 2, 2, 2, 1, 1, 1, 0, 0, 0};
  c.kv_source = {2, 4, 5};
  c.index_source = {2, 4, 5, 7};
  c.candidate_source = 5;
  c.engram_layers = {1, 4};
  c.draft_targets = {5, 6, 7};
  c.draft_stages = 3;
  c.draft_block = 5;
}

// Smallest with every mechanism, in settings where a mistake in any of them moves the logits.
NamedConfig mini_xs() {
  NamedConfig named;
  named.harsh = true;
  Config& c = named.config;
  eight_layer_plan(c);
  c.vocab = 128;
  c.dim = 64;
  c.heads = 4, c.head_dim = 64, c.rope_dim = 16;
  c.q_lora = 32, c.o_lora = 16, c.o_groups = 2;
  c.window = 8;
  c.index_heads = 16, c.index_head_dim = 32, c.index_topk = 8;
  c.candidate_blocks = 3, c.candidate_block_size = 4;
  c.rope_original_len = 32;
  c.experts = 8, c.top_k = 2, c.moe_inter = 32;
  c.swiglu_limit = 0.6f;
  c.engram_heads = 2, c.engram_head_dim = 32, c.engram_start = 97, c.engram_compressed_vocab = 64;
  c.draft_noise_id = 127, c.markov_rank = 16;
  c.draft_experts = 4, c.draft_top_k = 2;
  return named;
}

// Everything that mini-xs has, with other numbers, odd where they may be, and another plan:
// SWA FULL1 REUSE FULL2 REUSE REINDEX(no pool) FULL1+pool REUSE REINDEX REUSE.
NamedConfig mini_xs2() {
  NamedConfig named;
  Config& c = named.config;
  c.vocab = 160;
  c.dim = 96;
  c.layers = 10;
  c.heads = 6, c.head_dim = 64, c.rope_dim = 32;
  c.q_lora = 64, c.o_lora = 32, c.o_groups = 3;
  c.window = 13;
  c.rms_eps = 1e-6f;
  c.ratios = {0, 1, 1, 2, 2, 2, 1, 1, 1, 1, 0, 0};
  c.kv_source = {1, 3, 6};
  c.index_source = {1, 3, 5, 6, 8};
  c.index_heads = 20, c.index_head_dim = 64, c.index_topk = 6;
  c.candidate_source = 6, c.candidate_blocks = 4, c.candidate_block_size = 3;
  c.theta = 20000.f, c.compress_theta = 40000.f, c.rope_factor = 8.f;
  c.rope_original_len = 2048;
  c.experts = 7, c.top_k = 3, c.moe_inter = 64;
  c.route_scale = 1.25f, c.swiglu_limit = 1.f;
  c.hc_sinkhorn_iters = 15, c.hc_eps = 1e-5f;
  c.engram_layers = {2, 7};
  c.engram_max_ngram = 3, c.engram_heads = 3, c.engram_head_dim = 32, c.engram_start = 53;
  c.engram_compressed_vocab = 100, c.engram_pad_token_id = 5;
  c.draft_targets = {6, 9};
  c.draft_stages = 2, c.draft_block = 4, c.draft_noise_id = 159, c.markov_rank = 24;
  c.draft_experts = 5, c.draft_top_k = 2;
  return named;
}

// Small enough for a CPU's cache, wide enough for every block format.
NamedConfig mini_s() {
  NamedConfig named;
  named.quantised = true;
  Config& c = named.config;
  eight_layer_plan(c);
  c.vocab = 1024;
  c.dim = 256;
  c.heads = 8, c.head_dim = 64, c.rope_dim = 32;
  c.q_lora = 128, c.o_lora = 64, c.o_groups = 2;
  c.window = 32;
  c.index_heads = 16, c.index_head_dim = 64, c.index_topk = 32;
  c.candidate_blocks = 16, c.candidate_block_size = 4;
  c.rope_original_len = 2048;
  c.experts = 32, c.top_k = 4, c.moe_inter = 256;
  c.engram_heads = 4, c.engram_head_dim = 64, c.engram_start = 1024;
  c.draft_noise_id = 1023, c.markov_rank = 64;
  c.draft_experts = 16, c.draft_top_k = 2;
  return named;
}

// As mini-s in four layers and few experts: the smallest that every expert format fits.
// SWA FULL2 REUSE FULL1.
NamedConfig mini_four() {
  NamedConfig named = mini_s();
  Config& c = named.config;
  c.layers = 4;
  c.ratios = {0, 2, 2, 1, 0};
  c.kv_source = {1, 3};
  c.index_source = {1, 3};
  c.candidate_source = -1, c.candidate_blocks = 0, c.candidate_block_size = 0;
  c.engram_layers = {1};
  c.draft_targets = {3};
  c.draft_stages = 1;
  c.experts = 6, c.top_k = 2;
  c.draft_experts = 4;
  return named;
}

NamedConfig mini_m() {
  NamedConfig named;
  named.quantised = true;
  Config& c = named.config;
  eight_layer_plan(c);
  c.vocab = 4096;
  c.dim = 512;
  c.heads = 8, c.head_dim = 128, c.rope_dim = 64;
  c.q_lora = 256, c.o_lora = 128, c.o_groups = 4;
  c.window = 64;
  c.index_heads = 16, c.index_head_dim = 64, c.index_topk = 64;
  c.candidate_blocks = 16, c.candidate_block_size = 8;
  c.rope_original_len = 2048;
  c.experts = 64, c.top_k = 4, c.moe_inter = 256;
  c.engram_heads = 8, c.engram_head_dim = 64, c.engram_start = 4096;
  c.draft_noise_id = 4095, c.markov_rank = 64;
  c.draft_experts = 32, c.draft_top_k = 2;
  return named;
}

// For measuring: routed experts of DeepSeek-V4.1's own shape, more bytes of them than a cache
// holds in any format, and as little else as a model can have.
// SWA FULL2 REUSE FULL1.
NamedConfig wide() {
  NamedConfig named;
  named.quantised = true;
  named.random = true;
  Config& c = named.config;
  c.layers = 4;
  c.ratios = {0, 2, 2, 1, 0};
  c.kv_source = {1, 3};
  c.index_source = {1, 3};
  c.engram_layers = {1};
  c.draft_targets = {3};
  c.draft_stages = 1;
  c.draft_block = 5;
  c.vocab = 1024;
  c.dim = 5120;
  c.heads = 8, c.head_dim = 64, c.rope_dim = 32;
  c.q_lora = 128, c.o_lora = 64, c.o_groups = 2;
  c.window = 32;
  c.index_heads = 16, c.index_head_dim = 64, c.index_topk = 32;
  c.rope_original_len = 2048;
  c.experts = 144, c.top_k = 6, c.moe_inter = 2304;
  c.engram_heads = 4, c.engram_head_dim = 64, c.engram_start = 1024;
  c.draft_noise_id = 1023, c.markov_rank = 64;
  c.draft_experts = 6, c.draft_top_k = 2;
  return named;
}

// DeepSeek-V4.1-Flash as it was released, but for its Engram tables: a thousandth of their rows.
NamedConfig v41_flash() {
  NamedConfig named;
  named.quantised = true;
  named.random = true;
  // Of 15,360 experts 4,288 take 87 % of the lookups, as measured with the real model.
  named.skew = {4288.0 / 15360, 0.87};
  Config& c = named.config;
  c.layers = 40;
  c.ratios = {0, 0};
  c.ratios.resize(20, 2);
  c.ratios.resize(40, 1);
  c.ratios.resize(43, 0);
  c.kv_source = {2, 8, 14, 20};
  c.index_source = {2, 8, 14, 20, 24, 28, 32, 36};
  c.candidate_source = 20, c.candidate_blocks = 2048, c.candidate_block_size = 8;
  c.engram_layers = {1, 14};
  c.draft_targets = {37, 38, 39};
  c.draft_stages = 3, c.draft_block = 5;
  c.vocab = 129280;
  c.dim = 5120;
  c.heads = 64, c.head_dim = 512, c.rope_dim = 64;
  c.q_lora = 1280, c.o_lora = 1024, c.o_groups = 8;
  c.window = 128;
  c.index_heads = 32, c.index_head_dim = 128, c.index_topk = 512;
  c.rope_original_len = 65536;
  c.experts = 384, c.top_k = 6, c.moe_inter = 2304;
  c.engram_heads = 8, c.engram_head_dim = 256, c.engram_start = 16000;
  c.draft_noise_id = 128799, c.markov_rank = 256;
  c.draft_experts = 128, c.draft_top_k = 3;
  return named;
}

struct Entry {
  const char* name;
  NamedConfig (*make)();
};
constexpr Entry kConfigs[] = {
    {"mini-xs", mini_xs},      {"mini-xs2", mini_xs2}, {"mini-s", mini_s},
    {"mini-four", mini_four},  {"mini-m", mini_m},     {"wide", wide},
    {"v4.1-flash", v41_flash},
};

void keep_below(std::vector<int>& layers, int end) {
  std::erase_if(layers, [end](int layer) { return layer >= end; });
}

}  // namespace

std::vector<std::string> config_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kConfigs) names.emplace_back(entry.name);
  return names;
}

Result<NamedConfig> named_config(std::string_view name) {
  std::string known;
  for (const Entry& entry : kConfigs) {
    if (name == entry.name) {
      NamedConfig named = entry.make();
      named.config.name = entry.name;
      return named;
    }
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  return Status(Code::kUsage, "unknown config '" + std::string(name) + "'; there are " + known);
}

Status cut_layers(NamedConfig& named, int layers) {
  Config& c = named.config;
  if (layers < 1 || layers > c.layers) {
    return Status(Code::kUsage, c.name + " has " + std::to_string(c.layers) + " layers, not " +
                                    std::to_string(layers));
  }
  const auto cut = static_cast<size_t>(layers), stages = static_cast<size_t>(c.draft_stages);
  c.ratios.resize(cut);
  c.ratios.resize(cut + stages, 0);
  keep_below(c.kv_source, layers);
  keep_below(c.index_source, layers);
  keep_below(c.engram_layers, layers);
  if (c.candidate_source >= layers) {
    c.candidate_source = -1, c.candidate_blocks = 0, c.candidate_block_size = 0;
  }
  const int targets = std::min(layers, static_cast<int>(c.draft_targets.size()));
  c.draft_targets.clear();
  for (int i = layers - targets; i < layers; ++i) c.draft_targets.push_back(i);
  c.layers = layers;
  return Status();
}

}  // namespace rota
