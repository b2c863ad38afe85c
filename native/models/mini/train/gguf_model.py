"""A GGUF that Rota wrote, read into the PyTorch model: experts of a few bits are measured by the same code as the checkpoint.
Owns GGUF's names and the decoders of its blocks, written from native/formats/README.md."""
import os
import sys

import numpy as np
import torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../model/golden"))
import gguf_file  # noqa: E402

import rounding  # noqa: E402

# GGUF's words for the release's.
NAMES = {
    "attn_norm.weight": "attn_norm.weight", "ffn_norm.weight": "ffn_norm.weight", "attn_q_a.weight": "attn.wq_a.weight",
    "attn_q_a_norm.weight": "attn.q_norm.weight", "attn_q_b.weight": "attn.wq_b.weight", "attn_kv.weight": "attn.wkv.weight",
    "attn_kv_a_norm.weight": "attn.kv_norm.weight", "attn_sinks.weight": "attn.attn_sink", "attn_output_a.weight": "attn.wo_a.weight",
    "attn_output_b.weight": "attn.wo_b.weight", "ffn_gate_inp.weight": "ffn.gate.weight", "exp_probs_b.bias": "ffn.bias",
    "ffn_gate_shexp.weight": "ffn.shared1.weight", "ffn_up_shexp.weight": "ffn.shared3.weight", "ffn_down_shexp.weight": "ffn.shared2.weight",
    "ffn_gate_exps.weight": "ffn.w1.weight", "ffn_up_exps.weight": "ffn.w3.weight", "ffn_down_exps.weight": "ffn.w2.weight",
    "hc_attn_fn.weight": "hc_attn.fn", "hc_attn_base.weight": "hc_attn.base", "hc_attn_scale.weight": "hc_attn.scale",
    "hc_ffn_fn.weight": "hc_ffn.fn", "hc_ffn_base.weight": "hc_ffn.base", "hc_ffn_scale.weight": "hc_ffn.scale",
    "attn_compressor_kv.weight": "attn.compressor.wkv.weight", "attn_compressor_gate.weight": "attn.compressor.wgate.weight",
    "attn_compressor_norm.weight": "attn.compressor.norm.weight", "indexer_compressor_kv.weight": "attn.compressor.wk.weight",
    "indexer_compressor_norm.weight": "attn.compressor.k_norm.weight", "indexer.attn_q_b.weight": "attn.indexer.wq_b.weight",
    "indexer.proj.weight": "attn.indexer.weights_proj.weight", "engram_embed.weight": "engram.embed.weight",
    "engram_wkv.weight": "engram.wkv.weight", "engram_q.weight": "engram.q_weight.weight", "engram_k.weight": "engram.k_weight.weight",
}  # fmt: skip
TOP = {"token_embd.weight": "embed.weight", "output_norm.weight": "norm.weight", "output.weight": "head.weight"}
DRAFT_TOP = {
    "fc.weight": "main_proj.weight", "enc.output_norm.weight": "main_norm.weight", "output_norm.weight": "norm.weight",
    "markov_w1.weight": "markov_embed.weight", "markov_w2.weight": "markov_head.weight", "conf_proj.weight": "confidence.weight",
}  # fmt: skip


def half(blocks, at):
    """fp16 at byte `at` of each block: [n, 1] float32"""
    return blocks[:, at : at + 2].copy().view(np.float16).astype(np.float32)


def power(codes):
    """E8M0"""
    return np.ldexp(np.float32(1), codes.astype(np.int32) - 127)


def fields(codes, shifts, mask):
    """[n, .., k] bytes -> [n, .., shifts, k]: each shift's bits of all bytes."""
    return (codes[..., None, :] >> np.array(shifts, np.uint8)[:, None]) & mask


def bf16(blocks):
    return (blocks.copy().view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def q8_0(blocks):
    return half(blocks, 0) * blocks[:, 2:].view(np.int8)


def q2_0(blocks):
    codes = fields(blocks[:, 2:, None], (0, 2, 4, 6), 3).reshape(len(blocks), 64)
    return half(blocks, 0) * (codes.astype(np.float32) - 1)


def q3_k(blocks):
    low = fields(blocks[:, 32:96].reshape(-1, 2, 32), (0, 2, 4, 6), 3).reshape(-1, 256)
    high = fields(blocks[:, :32], range(8), 1).reshape(-1, 256)
    packed = blocks[:, 96:108]
    scale_low = np.concatenate([packed[:, :8] & 15, packed[:, :8] >> 4], 1)
    scale = scale_low + 16 * fields(packed[:, 8:], (0, 2, 4, 6), 3).reshape(-1, 16) - np.float32(32)
    return half(blocks, 108) * scale.repeat(16, 1) * (low + 4 * high - np.float32(4))


def ptq1_0(blocks):
    digits = np.stack([(blocks[:, :26].astype(np.uint32) * 3**n % 256 * 3 >> 8) for n in range(5)], 1)  # [n, digit, byte]
    parts = (digits[:, :, :16], digits[:, :, 16:24], digits[:, :4, 24:])
    trits = np.concatenate([part.reshape(len(blocks), -1) for part in parts], 1)
    return half(blocks, 26) * (trits.astype(np.float32) - 1)


def mxfp4(blocks):
    codes = fields(blocks[:, 1:], (0, 4), 15).reshape(-1, 32)
    return power(blocks[:, :1]) * np.array((*rounding.E2M1, *(-v for v in rounding.E2M1)), np.float32)[codes]


def mxfp8(blocks):
    return power(blocks[:, :1]) * torch.from_numpy(blocks[:, 1:].copy()).view(torch.float8_e4m3fn).float().numpy()


DECODERS = {
    8: (32, 34, q8_0), 11: (256, 110, q3_k), 30: (1, 2, bf16), 39: (32, 17, mxfp4), 42: (64, 18, q2_0), 143: (128, 28, ptq1_0),
    210: (32, 33, mxfp8),
}  # fmt: skip
FORMATS = {0: "F32", 30: "BF16", 8: "Q8_0", 11: "Q3_K", 39: "MXFP4", 42: "Q2_0", 143: "PTQ1_0", 210: "MXFP8"}


def joined(tensors):
    """Experts that lie in blobs by their format, as the three tensors of a layer [experts, rows, columns]."""
    out = {name: data for name, data in tensors.items() if ".ffn_exps_" not in name}
    for name, places in tensors.items():
        if not name.endswith(".ffn_exps_map"):
            continue
        block = name.removesuffix("ffn_exps_map")
        columns = len(tensors[block + "attn_norm.weight"])
        blobs = np.stack([tensors[f"{block}ffn_exps_blob.{FORMATS[kind]}.weight"][at] for kind, at in places])
        gate, up, down = np.split(blobs, 3, 1)
        out[block + "ffn_gate_exps.weight"], out[block + "ffn_up_exps.weight"] = (w.reshape(len(w), -1, columns) for w in (gate, up))
        out[block + "ffn_down_exps.weight"] = down.reshape(len(down), columns, -1)
    return out


def load(module, tensors, top, blocks):
    """Every tensor of the file has its place in the module, and every parameter its tensor."""
    state, left = module.state_dict(), set(module.state_dict()) - {"noise"}
    for name, data in tensors.items():
        if data.dtype != np.float32:
            continue
        if name.startswith("blk."):
            _, layer, rest = name.split(".", 2)
            place = f"{blocks}.{layer}.{NAMES[rest]}"
        else:
            place = top[name]
        state[place].copy_(torch.from_numpy(np.array(data)).reshape(state[place].shape))
        left.discard(place)
    assert not left, f"not in the file: {sorted(left)}"


@torch.no_grad()
def restore(model, drafter, path):
    """Puts the decoded weights of STEM.gguf and STEM.dspark.gguf into the modules. Returns the map of compressed ids."""
    keys, target = gguf_file.read(path, DECODERS)
    _, draft = gguf_file.read(path.removesuffix(".gguf") + ".dspark.gguf", DECODERS)
    load(model, joined(target), TOP, "layers")
    load(drafter, joined(draft), DRAFT_TOP, "stages")
    drafter.noise.copy_(model.embed.weight[model.c.draft_noise_id])
    return keys["deepseek41.engram.token_map"]
