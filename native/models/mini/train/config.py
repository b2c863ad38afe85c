"""The sizes of a model to train, under the names that the oracle (native/model/golden) uses. Owns the named configs."""
import dataclasses
import math


@dataclasses.dataclass
class Config:
    name: str
    vocab: int
    dim: int
    heads: int
    head_dim: int
    rope_dim: int
    q_lora: int
    o_lora: int
    o_groups: int
    window: int
    index_heads: int
    index_head_dim: int
    index_topk: int
    candidate_blocks: int
    candidate_block_size: int
    rope_original_len: int
    experts: int
    top_k: int
    moe_inter: int
    engram_heads: int
    engram_head_dim: int
    engram_start: int
    markov_rank: int
    draft_experts: int
    draft_top_k: int
    # SWA SWA FULL2 REUSE FULL2 FULL1+pool REUSE REINDEX: every role of the released model in 8 layers.
    layers: int = 8
    ratios: tuple = (0, 0, 2, 2, 2, 1, 1, 1, 0, 0, 0)
    kv_source: tuple = (2, 4, 5)
    index_source: tuple = (2, 4, 5, 7)
    candidate_source: int = 5
    engram_layers: tuple = (1, 4)
    engram_max_ngram: int = 4
    draft_targets: tuple = (5, 6, 7)
    draft_stages: int = 3
    draft_block: int = 5
    theta: float = 10000.0
    compress_theta: float = 160000.0
    rope_factor: float = 16.0
    yarn_beta_fast: float = 32.0
    yarn_beta_slow: float = 1.0
    route_scale: float = 1.5
    swiglu_limit: float = 10.0
    rms_eps: float = 1e-20
    hc_mult: int = 4
    hc_sinkhorn_iters: int = 20
    hc_eps: float = 1e-6
    engram_compressed_vocab: int = 0  # both set when the tokenizer is known
    draft_noise_id: int = 0
    engram_pad_token_id: int = 2

    @property
    def engram_columns(self):
        return (self.engram_max_ngram - 1) * self.engram_heads

    def kv_owner(self, layer):
        return max(source for source in self.kv_source if source <= layer)

    def named(self, compressed_vocab):
        """With what only a tokenizer can say. The noise token is the last id, as in the synthetic models."""
        return dataclasses.replace(self, engram_compressed_vocab=compressed_vocab, draft_noise_id=self.vocab - 1)


CONFIGS = {
    # What ships: 34 MB at most in the released formats; size_test.py counts them.
    "mini": Config(
        "mini", vocab=4096, dim=256, heads=8, head_dim=64, rope_dim=32, q_lora=128, o_lora=64, o_groups=4, window=64, index_heads=16,
        index_head_dim=64, index_topk=64, candidate_blocks=16, candidate_block_size=8, rope_original_len=2048, experts=20, top_k=4,
        moe_inter=256, engram_heads=4, engram_head_dim=32, engram_start=800, markov_rank=64, draft_experts=6, draft_top_k=2,
    ),
    # Minutes of one CPU core: proves the pipeline, says nothing.
    "tiny": Config(
        "tiny", vocab=384, dim=32, heads=4, head_dim=32, rope_dim=16, q_lora=32, o_lora=32, o_groups=2, window=16, index_heads=16,
        index_head_dim=32, index_topk=12, candidate_blocks=5, candidate_block_size=4, rope_original_len=2048, experts=6, top_k=2,
        moe_inter=32, engram_heads=2, engram_head_dim=32, engram_start=97, markov_rank=32, draft_experts=4, draft_top_k=2,
    ),
}  # fmt: skip


def yarn_range(c):
    """First and last channel of YaRN's ramp (reference formula of the released model; both must lie inside the rotated half)."""
    def channel(turns):
        return c.rope_dim * math.log(c.rope_original_len / (turns * 2 * math.pi)) / (2 * math.log(c.compress_theta))

    return max(math.floor(channel(c.yarn_beta_fast)), 0), min(math.ceil(channel(c.yarn_beta_slow)), c.rope_dim - 1)
