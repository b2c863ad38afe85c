"""The rule of native/model/synthetic.h in numpy: value i of a named tensor from name, seed and i. Reads no file."""
import numpy as np

GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def fnv1a64(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def mix(z):
    """The SplitMix64 finaliser on a uint64 array (wraps by itself)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def splitmix64(seed):
    return int(mix(np.array([(seed + GOLDEN) & MASK], np.uint64))[0])


def values(name, seed, count, mean, std):
    """float32 values 0 .. count-1 of the tensor."""
    key = np.uint64(fnv1a64(name) ^ splitmix64(seed))
    with np.errstate(over="ignore"):
        u = mix(key + (np.arange(count, dtype=np.uint64) + np.uint64(1)) * np.uint64(GOLDEN))
    total = sum((u >> np.uint64(shift)) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48))
    z = (total.astype(np.float64) - 131070.0) / 37837.2
    return (mean + std * z).astype(np.float32)


NORMS = (
    "output_norm", "attn_norm", "attn_q_a_norm", "attn_kv_a_norm", "ffn_norm", "attn_compressor_norm",
    "indexer_compressor_norm",
)  # fmt: skip


def spread(name, shape, dim, harsh):
    """(mean, std) of a tensor by its GGUF name; shape is numpy's, so its last entry is the row length."""
    role = name.split(".", 2)[2] if name.startswith("blk.") else name
    role = role.removesuffix(".weight").removeprefix("enc.")
    if role in NORMS:
        return 1.0, 0.1
    if role in ("attn_sinks", "exp_probs_b.bias"):
        return 0.0, 0.1
    if role in ("hc_attn_base", "hc_ffn_base"):
        return 0.0, 4.0 if harsh else 0.5
    if role in ("hc_attn_scale", "hc_ffn_scale"):
        return (2.0 if harsh else 0.5), 0.0
    if role in ("engram_q", "engram_k"):
        return 1.0, 1.0 / np.sqrt(float(dim))
    if role == "token_embd":
        return 0.0, 0.12
    if role == "engram_embed":
        return 0.0, 1.0
    return 0.0, 1.0 / np.sqrt(float(shape[-1]))


def check_tensors(target, draft, seed):
    """Stops unless every float tensor of a synthesised F32 model and its sidecar is what the rule says, bit for bit."""
    dim = target["token_embd.weight"].shape[-1]
    harsh = float(target["blk.0.hc_attn_scale.weight"].flat[0]) == 2.0
    for prefix, tensors in (("", target), ("dspark.", draft)):
        for name, data in tensors.items():
            if data.dtype != np.float32:
                continue
            mean, std = spread(name, data.shape, dim, harsh)
            expected = values(prefix + name, seed, data.size, mean, std).reshape(data.shape)
            if not np.array_equal(expected.view(np.uint32), data.view(np.uint32)):
                raise SystemExit(f"{prefix}{name} differs from the rule")
