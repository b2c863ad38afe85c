"""What a trained model is worth on text it has not seen: bits per byte beside xz, tokens a pass, use of experts."""
import lzma
import subprocess

import numpy as np
import torch

from acceptance import Path, distinct, starts
from data import windows
from generate import generate
from text.classes import CLASSES


def bits_per_byte(model, bundle, part, name, most_tokens=120_000, length=512, batch=16):
    """Of up to most_tokens ids: windows overlap by half, each id is scored once, with at least length/2 ids before it (but in
    the first window). Bytes are exactly those that the scored ids stand for; end-of-sequence ids cost bits and no bytes."""
    ids = bundle.part(part, name)[:most_tokens]
    half = length // 2
    if len(ids) < length + 1:
        return None
    starts = torch.arange(0, len(ids) - length, half, device=ids.device)
    nats = size = 0.0
    for first in range(0, len(starts), batch):
        chunk = windows(ids, starts[first : first + batch], length + 1)
        with autocast(ids.device):
            logits = model.logits(model(chunk[:, :-1]).hidden)
        losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), chunk[:, 1:].flatten(), reduction="none").unflatten(0, (len(chunk), -1))
        scored = torch.ones_like(losses, dtype=torch.bool)
        scored[:, :half] = (starts[first : first + batch] == 0)[:, None]
        nats += losses[scored].double().sum().item()
        size += bundle.token_bytes[chunk[:, 1:][scored]].sum().item()
    return float(nats / np.log(2) / size)


def autocast(device):
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")


def xz_bits(data):
    """Bits a byte of `xz -9e`; of Python's lzma, the same preset and container, where xz is not installed."""
    try:
        packed = subprocess.run(["xz", "-9e", "-c"], input=data, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        packed = lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
    return 8 * len(packed) / len(data)


def prompts(bundle, name, count, length, seed=5):
    ids = bundle.part("heldout", name)
    starts = np.random.default_rng(seed).integers(0, max(1, len(ids) - length), count)
    return windows(ids, torch.from_numpy(starts).to(ids.device), length)


@torch.no_grad()
def acceptance(model, drafter, bundle, name, temperature, count=32, before=128, made=128):
    """Drafts of full depth along a continuation of held-out prompts, no confidence gate. A pass commits the drafts that stand and
    one token more. Returns tokens a pass of greedy drafts that agree with the path, where the path is sampled also those of
    sampled drafts under exact rejection sampling, distinct-token ratio of the continuations, tokens, and how well confidence
    > 0.5 tells a first greedy draft's hit."""
    generator = torch.Generator(bundle.device).manual_seed(7)
    with autocast(bundle.device):
        ids = generate(model, prompts(bundle, name, count, before), made, temperature, generator)
        path = Path(model, drafter, ids, before)
        agrees, conf = path.agreement()
        chance = path.chance(temperature) if temperature > 0 else None
    passes, tokens = starts(agrees), count * (made - 1)
    right = ((conf[..., 0] > 0) == (agrees[..., 0] > 0)).double()
    found = {"tokens_per_pass": tokens / passes.sum().item()}
    if chance is not None:
        found["tokens_per_pass_rejection"] = tokens / starts(chance).sum().item()
    return found | {
        "distinct_ratio": distinct(ids[:, before:]).mean().item(), "tokens": tokens, "prompts": count, "made": made,
        "confidence_right": ((right * passes).sum() / passes.sum()).item(),
    }  # fmt: skip


@torch.no_grad()
def expert_use(model, bundle, name, batch=16, length=512):
    """[layers, experts] share of lookups, most used first, over held-out text."""
    ids = prompts(bundle, name, batch, length, seed=9)
    with autocast(bundle.device):
        model(ids)
    use = [layer.ffn.counts / layer.ffn.counts.sum() for layer in model.layers]
    return [sorted((round(v, 4) for v in u.float().tolist()), reverse=True) for u in use]


@torch.no_grad()
def full_report(model, drafter, bundle, text_of, quick=False):
    """{class: numbers}. text_of(name): the held-out bytes, for xz."""
    report, count, made = {}, 2 if quick else 32, 8 if quick else 128
    for name in CLASSES:
        if bundle.part("heldout", name).numel() < 1200:
            continue
        report[name] = {
            "bits_per_byte": bits_per_byte(model, bundle, "heldout", name, 1_100 if quick else 10**9),
            "xz_9e": xz_bits(text_of(name)),
            "greedy": acceptance(model, drafter, bundle, name, 0.0, count, 128, made),
            "sampled_0.8": acceptance(model, drafter, bundle, name, 0.8, count, 128, made),
            "expert_use": expert_use(model, bundle, name, 2 if quick else 16),
        }
        bits, greedy = report[name]["bits_per_byte"], report[name]["greedy"]
        print(f"{name:11} {bits:.3f} bits a byte (xz -9e {report[name]['xz_9e']:.3f}); greedy {greedy['tokens_per_pass']:.2f} tokens a pass, "
              f"{greedy['distinct_ratio']:.2f} distinct; sampled {report[name]['sampled_0.8']['tokens_per_pass']:.2f}", flush=True)  # fmt: skip
    return report
