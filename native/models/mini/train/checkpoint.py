"""A checkpoint as DeepSeek-V4.1 is released: official tensor names, fp8 block-32 dense weights with E8M0 scales, fp4 experts,
safetensors shards with an index. Owns names and formats; training is not known here.

Beside the release's files stands engram.json: the map from token ids to compressed ids, so that a reader needs no Unicode
tables to make it from tokenizer.json. It is derived, not trained."""
import json
import os
import struct

import numpy as np
import torch

import rounding

SHARD_BYTES = 15_900_000
HEADER_ROOM = 300_000  # of a shard, for its JSON


class Tensor:
    def __init__(self, name, dtype, shape, data):
        self.name, self.dtype, self.shape, self.data = name, dtype, list(shape), data


def e8m0(scale):
    """Powers of two as bytes, 2^(b - 127)."""
    return (torch.log2(scale).round().to(torch.int32) + 127).to(torch.uint8)


def _bytes(tensor):
    """Of a model on the meta device: zeros, as many as there would be. Sizes can be counted without a value."""
    if tensor.is_meta:
        return bytes(tensor.numel() * tensor.element_size())
    return tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()


def bf16(name, w):
    return [Tensor(name, "BF16", w.shape, _bytes(w.detach().to(torch.bfloat16)))]


def f32(name, w):
    return [Tensor(name, "F32", w.shape, _bytes(w.detach().float()))]


def _e4m3(name, w, rounded):
    codes, scale = rounded(w.detach())
    return [
        Tensor(name + ".weight", "F8_E4M3", w.shape, _bytes(codes.to(torch.float8_e4m3fn))),
        Tensor(name + ".scale", "F8_E8M0", scale.shape, _bytes(e8m0(scale))),
    ]


def fp8(name, w):
    return _e4m3(name, w, rounding.block32)


def table(name, w):
    return _e4m3(name, w, rounding.rows32)


def fp4(name, w):
    """I8 [O, I/2]: byte k has element 2k in its low nibble; scales E8M0 [O, I/32]."""
    values, scale = rounding.fp4_weight(w.detach())
    codes = rounding.e2m1_codes(values).to(torch.uint8) | (torch.signbit(values).to(torch.uint8) << 3)
    packed = codes[:, 0::2] | (codes[:, 1::2] << 4)
    return [
        Tensor(name + ".weight", "I8", packed.shape, _bytes(packed)),
        Tensor(name + ".scale", "F8_E8M0", scale.shape, _bytes(e8m0(scale))),
    ]


def block(prefix, layer):
    """Tensors of a target layer or a draft stage."""
    out = bf16(prefix + "attn_norm.weight", layer.attn_norm.weight) + bf16(prefix + "ffn_norm.weight", layer.ffn_norm.weight)
    for site, hyper in (("attn", layer.hc_attn), ("ffn", layer.hc_ffn)):
        for part in ("fn", "base", "scale"):
            out += f32(f"{prefix}hc_{site}_{part}", getattr(hyper, part))
    a, name = layer.attn, prefix + "attn."
    for part in ("wq_a", "wq_b", "wkv", "wo_a", "wo_b"):
        out += fp8(name + part, getattr(a, part).weight)
    out += f32(name + "attn_sink", a.attn_sink) + bf16(name + "q_norm.weight", a.q_norm.weight) + bf16(name + "kv_norm.weight", a.kv_norm.weight)
    if a.compressor is not None:
        out += bf16(name + "compressor.wkv.weight", a.compressor.wkv.weight) + bf16(name + "compressor.norm.weight", a.compressor.norm.weight)
        if a.compressor.wgate is not None:
            out += bf16(name + "compressor.wgate.weight", a.compressor.wgate.weight)
        out += bf16(name + "indexer.wk.weight", a.compressor.wk.weight) + bf16(name + "indexer.k_norm.weight", a.compressor.k_norm.weight)
    if a.indexer is not None:
        out += fp8(name + "indexer.wq_b", a.indexer.wq_b.weight) + bf16(name + "indexer.weights_proj.weight", a.indexer.weights_proj.weight)
    f, name = layer.ffn, prefix + "ffn."
    out += bf16(name + "gate.weight", f.gate.weight) + f32(name + "gate.bias", f.bias) + f32(name + "gate.bias_vl", torch.zeros_like(f.bias))
    for part, shared in (("w1", f.shared1), ("w2", f.shared2), ("w3", f.shared3)):
        out += fp8(f"{name}shared_experts.{part}", shared.weight)
        for expert, weight in enumerate(getattr(f, part).weight):
            out += fp4(f"{name}experts.{expert}.{part}", weight)
    if layer.engram is not None:
        e, name = layer.engram, prefix + "engram."
        out += table(name + "embed", e.embed.weight) + fp8(name + "wkv", e.wkv.weight)
        out += bf16(name + "q_weight", e.q_weight.weight) + bf16(name + "k_weight", e.k_weight.weight)
    return out


@torch.no_grad()
def tensors(model, drafter):
    c = model.c
    embed = model.embed.weight.clone()
    embed[c.draft_noise_id] = drafter.noise
    out = bf16("embed.weight", embed) + bf16("head.weight", model.head.weight) + bf16("norm.weight", model.norm.weight)
    for i, layer in enumerate(model.layers):
        out += block(f"layers.{i}.", layer)
    out += fp8("mtp.0.main_proj", drafter.main_proj.weight) + bf16("mtp.0.main_norm.weight", drafter.main_norm.weight)
    for k, stage in enumerate(drafter.stages):
        out += block(f"mtp.{k}.", stage)
    last = f"mtp.{c.draft_stages - 1}."
    out += bf16(last + "norm.weight", drafter.norm.weight) + bf16(last + "markov_head.embed.weight", drafter.markov_embed.weight)
    out += bf16(last + "markov_head.head.weight", drafter.markov_head.weight)
    return out + bf16(last + "confidence_head.proj.weight", drafter.confidence.weight)


def shards(all_tensors, most=SHARD_BYTES):
    """Lists of tensors whose files stay within `most` bytes, in order."""
    out, size = [[]], HEADER_ROOM
    for tensor in all_tensors:
        if size + len(tensor.data) > most and out[-1]:
            out.append([])
            size = HEADER_ROOM
        size += len(tensor.data)
        out[-1].append(tensor)
    return out


def encode(tensor_list):
    """Bytes of one safetensors file; the header is padded to 8 bytes with spaces."""
    header, at = {}, 0
    for t in tensor_list:
        header[t.name] = {"dtype": t.dtype, "shape": t.shape, "data_offsets": [at, at + len(t.data)]}
        at += len(t.data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(t.data for t in tensor_list)


def config_json(c):
    """The release's config.json with this model's numbers."""
    text = {
        "model_type": "deepseek_v41_text", "vocab_size": c.vocab, "hidden_size": c.dim, "num_hidden_layers": c.layers,
        "moe_intermediate_size": c.moe_inter, "num_attention_heads": c.heads, "num_key_value_heads": 1, "head_dim": c.head_dim,
        "qk_rope_head_dim": c.rope_dim, "q_lora_rank": c.q_lora, "o_lora_rank": c.o_lora, "o_groups": c.o_groups, "hidden_act": "silu",
        "swiglu_limit": c.swiglu_limit, "rms_norm_eps": c.rms_eps, "attention_bias": False, "max_position_embeddings": 16 * c.rope_original_len,
        "rope_theta": c.theta, "compress_rope_theta": c.compress_theta,
        "rope_scaling": {"type": "yarn", "factor": c.rope_factor, "beta_fast": c.yarn_beta_fast, "beta_slow": c.yarn_beta_slow,
                         "original_max_position_embeddings": c.rope_original_len},
        "sliding_window": c.window, "n_routed_experts": c.experts, "n_shared_experts": 1, "num_experts_per_tok": c.top_k,
        "scoring_func": "sqrtsoftplus", "topk_method": "noaux_tc", "norm_topk_prob": True, "routed_scaling_factor": c.route_scale,
        "compress_ratios": list(c.ratios), "kv_source_layer_ids": list(c.kv_source), "index_source_layer_ids": list(c.index_source),
        "index_n_heads": c.index_heads, "index_head_dim": c.index_head_dim, "index_topk": c.index_topk,
        "candidate_source_layer_id": c.candidate_source, "candidate_topk_blocks": c.candidate_blocks,
        "candidate_block_size": c.candidate_block_size, "hc_mult": c.hc_mult, "hc_sinkhorn_iters": c.hc_sinkhorn_iters, "hc_eps": c.hc_eps,
        "engram_layer_ids": list(c.engram_layers), "engram_num_embeddings": None, "engram_max_ngram_size": c.engram_max_ngram,
        "engram_vocab_size": c.engram_start, "engram_n_heads": c.engram_heads, "engram_head_dim": c.engram_head_dim,
        "engram_pad_token_id": c.engram_pad_token_id, "engram_compressed_vocab_size": c.engram_compressed_vocab,
        "num_nextn_predict_layers": c.draft_stages, "dspark_block_size": c.draft_block, "dspark_noise_token_id": c.draft_noise_id,
        "dspark_target_layer_ids": list(c.draft_targets), "dspark_markov_rank": c.markov_rank,
        "dspark_n_routed_experts": c.draft_experts, "dspark_num_experts_per_tok": c.draft_top_k,
    }  # fmt: skip
    return {
        "architectures": ["DeepseekV41ForCausalLM"], "model_type": "deepseek_v41", "dtype": "bfloat16", "bos_token_id": 0,
        "eos_token_id": 1, "pad_token_id": 2, "tie_word_embeddings": False,
        "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [32, 32],
                                "scale_fmt": "ue8m0", "expert_dtype": "fp4"},
        "text_config": text,
    }  # fmt: skip


def write(folder, model, drafter, compressed):
    """Writes the whole checkpoint; returns {file: bytes}."""
    os.makedirs(folder, exist_ok=True)
    lists = shards(tensors(model, drafter))
    weight_map, sizes = {}, {}
    for i, tensor_list in enumerate(lists):
        name = f"model-{i + 1:05d}-of-{len(lists):05d}.safetensors"
        weight_map |= {t.name: name for t in tensor_list}
        _put(folder, name, encode(tensor_list), sizes)
    total = sum(len(t.data) for tensor_list in lists for t in tensor_list)
    config = config_json(model.c)
    config["text_config"]["engram_num_embeddings"] = [layer.engram.embed.weight.shape[0] for layer in model.layers if layer.engram is not None]
    _put_json(folder, "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": weight_map}, sizes)
    _put_json(folder, "config.json", config, sizes)
    _put_json(folder, "engram.json", {"token_map": [int(i) for i in compressed]}, sizes)
    return sizes


def _put(folder, name, data, sizes):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)
    sizes[name] = len(data)


def _put_json(folder, name, value, sizes):
    indent = None if name == "engram.json" else 1
    _put(folder, name, (json.dumps(value, indent=indent) + "\n").encode(), sizes)


def read(folder):
    """{name: fp32 tensor} of a checkpoint, decoded: what the stored codes and scales say. Scales are folded in."""
    raw = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".safetensors"):
            raw |= _read_shard(os.path.join(folder, name))
    out = {}
    for name, (dtype, shape, data) in raw.items():
        if dtype in ("BF16", "F32"):
            kind = torch.bfloat16 if dtype == "BF16" else torch.float32
            out[name] = torch.frombuffer(bytearray(data), dtype=kind).reshape(shape).float()
        elif dtype in ("F8_E4M3", "I8"):
            out[name] = _decoded(dtype, shape, data, *raw[name.removesuffix("weight") + "scale"][1:])
    return out


def _read_shard(path):
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header, body = json.loads(file.read(length)), file.read()
    return {k: (v["dtype"], v["shape"], body[v["data_offsets"][0] : v["data_offsets"][1]]) for k, v in header.items() if k != "__metadata__"}


def _decoded(dtype, shape, data, scale_shape, scale_data):
    scale = np.ldexp(np.float32(1), np.frombuffer(scale_data, np.uint8).astype(np.int32) - 127).reshape(scale_shape)
    scale = torch.from_numpy(scale.astype(np.float32)).repeat_interleave(32, 1)
    if dtype == "I8":
        packed = np.frombuffer(data, np.uint8).reshape(shape)
        codes = np.stack([packed & 15, packed >> 4], -1).reshape(shape[0], -1)
        values = np.array(rounding.E2M1, np.float32)[codes & 7] * np.where(codes & 8, -1, 1).astype(np.float32)
        return torch.from_numpy(values) * scale
    values = torch.frombuffer(bytearray(data), dtype=torch.float8_e4m3fn).reshape(shape).float()
    per_row = scale.shape[0] == shape[0] and shape[0] != -(-shape[0] // 32)
    return values * (scale if per_row else scale.repeat_interleave(32, 0)[: shape[0]])


@torch.no_grad()
def restore(model, drafter, folder):
    """Puts a checkpoint's decoded weights into the modules: what training code sees of what was shipped. Returns the map of
    compressed ids."""
    known = read(folder)
    model.embed.weight.copy_(known["embed.weight"])
    drafter.noise.copy_(known["embed.weight"][model.c.draft_noise_id])
    for module, layers, prefix in ((model, model.layers, "layers"), (drafter, drafter.stages, "mtp")):
        for i, layer in enumerate(layers):
            _restore_block(layer, f"{prefix}.{i}.", known)
    last = f"mtp.{model.c.draft_stages - 1}."
    for weight, name in (
        (model.head, "head.weight"), (model.norm, "norm.weight"), (drafter.main_proj, "mtp.0.main_proj.weight"),
        (drafter.main_norm, "mtp.0.main_norm.weight"), (drafter.norm, last + "norm.weight"),
        (drafter.markov_embed, last + "markov_head.embed.weight"), (drafter.markov_head, last + "markov_head.head.weight"),
        (drafter.confidence, last + "confidence_head.proj.weight"),
    ):  # fmt: skip
        weight.weight.copy_(known[name])
    with open(os.path.join(folder, "engram.json"), encoding="utf-8") as file:
        return json.load(file)["token_map"]


def _restore_block(layer, prefix, known):
    for tensor in block(prefix, layer):
        if tensor.dtype == "F8_E8M0" or tensor.name.endswith("bias_vl"):
            continue
        _place(layer, tensor.name.removeprefix(prefix)).copy_(known[tensor.name])


def _place(layer, name):
    """The parameter behind an official name within a block."""
    if name.startswith("hc_"):
        _, site, part = name.split("_")
        return getattr(layer.hc_attn if site == "attn" else layer.hc_ffn, part)
    words = name.removesuffix(".weight").split(".")
    if words[:2] == ["ffn", "experts"]:
        return getattr(layer.ffn, words[3]).weight[int(words[2])]
    if words[:2] == ["ffn", "shared_experts"]:
        return getattr(layer.ffn, "shared" + words[2][1]).weight
    if words[:2] == ["ffn", "gate"]:
        return layer.ffn.bias if words[-1] == "bias" else layer.ffn.gate.weight
    if words[:2] == ["attn", "indexer"] and words[2] in ("wk", "k_norm"):
        return getattr(layer.attn.compressor, words[2]).weight
    found = layer
    for word in words:
        found = getattr(found, word)
    return found if isinstance(found, torch.nn.Parameter) else found.weight
