// config.json of the fixture, in the release's words.
#include "model/checkpoint_fixture.h"
#include "model/engram_tables.h"

namespace rota {
namespace {

using Json = nlohmann::json;

Json text_config(const Config& c) {
  return {{"model_type", "deepseek_v41_text"},
          {"vocab_size", c.vocab},
          {"hidden_size", c.dim},
          {"num_hidden_layers", c.layers},
          {"moe_intermediate_size", c.moe_inter},
          {"num_attention_heads", c.heads},
          {"num_key_value_heads", 1},
          {"head_dim", c.head_dim},
          {"qk_rope_head_dim", c.rope_dim},
          {"q_lora_rank", c.q_lora},
          {"o_lora_rank", c.o_lora},
          {"o_groups", c.o_groups},
          {"hidden_act", "silu"},
          {"swiglu_limit", c.swiglu_limit},
          {"rms_norm_eps", c.rms_eps},
          {"attention_bias", false},
          {"rope_theta", c.theta},
          {"compress_rope_theta", c.compress_theta},
          {"rope_scaling",
           {{"type", "yarn"},
            {"factor", c.rope_factor},
            {"beta_fast", c.yarn_beta_fast},
            {"beta_slow", c.yarn_beta_slow},
            {"original_max_position_embeddings", c.rope_original_len}}},
          {"sliding_window", c.window},
          {"n_routed_experts", c.experts},
          {"n_shared_experts", 1},
          {"num_experts_per_tok", c.top_k},
          {"scoring_func", "sqrtsoftplus"},
          {"topk_method", "noaux_tc"},
          {"norm_topk_prob", true},
          {"routed_scaling_factor", c.route_scale},
          {"compress_ratios", c.ratios},
          {"kv_source_layer_ids", c.kv_source},
          {"index_source_layer_ids", c.index_source},
          {"index_n_heads", c.index_heads},
          {"index_head_dim", c.index_head_dim},
          {"index_topk", c.index_topk}};
}

}  // namespace

nlohmann::json checkpoint_config_json(const Config& c) {
  Json text = text_config(c);
  text.update({{"candidate_source_layer_id", c.candidate_source},
               {"candidate_topk_blocks", c.candidate_blocks},
               {"candidate_block_size", c.candidate_block_size},
               {"hc_mult", c.hc_mult},
               {"hc_sinkhorn_iters", c.hc_sinkhorn_iters},
               {"hc_eps", c.hc_eps},
               {"engram_layer_ids", c.engram_layers},
               {"engram_num_embeddings", derive_engram_tables(c).rows},
               {"engram_max_ngram_size", c.engram_max_ngram},
               {"engram_vocab_size", c.engram_start},
               {"engram_n_heads", c.engram_heads},
               {"engram_head_dim", c.engram_head_dim},
               {"engram_pad_token_id", c.engram_pad_token_id},
               {"engram_compressed_vocab_size", c.engram_compressed_vocab},
               {"num_nextn_predict_layers", c.draft_stages},
               {"dspark_block_size", c.draft_block},
               {"dspark_noise_token_id", c.draft_noise_id},
               {"dspark_target_layer_ids", c.draft_targets},
               {"dspark_markov_rank", c.markov_rank},
               {"dspark_n_routed_experts", c.draft_experts},
               {"dspark_num_experts_per_tok", c.draft_top_k}});
  return {{"architectures", {"DeepseekV41ForCausalLM"}},
          {"model_type", "deepseek_v41"},
          {"bos_token_id", c.bos_id},
          {"eos_token_id", c.eos_id},
          {"pad_token_id", c.pad_id},
          {"image_token_id", c.image_id},
          {"tie_word_embeddings", false},
          {"quantization_config",
           {{"quant_method", "fp8"},
            {"weight_block_size", {32, 32}},
            {"scale_fmt", "ue8m0"},
            {"expert_dtype", "fp4"}}},
          {"vision_config", {{"num_hidden_layers", 32}, {"hidden_size", 1024}}},
          {"text_config", text}};
}

}  // namespace rota
