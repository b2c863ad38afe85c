#!/usr/bin/env python3
"""Holds the PyTorch model to the project's oracle: python3 parity_test.py PATH/TO/rota-model

Both synthetic mini models (harsh settings, every mechanism biting) are written in F32, read into the PyTorch model and into
the numpy oracle; logits, taps, every draft row and every confidence must agree within 1e-4 with the quantisers off, in one
pass and in chunks. Also: the committed goldens, the custom backward of Sinkhorn, and the roundings."""
import dataclasses
import os
import sys
import tempfile

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../../model/golden")]

import rounding  # noqa: E402
from config import CONFIGS, Config  # noqa: E402
from draft import Drafter  # noqa: E402
from gguf_model import DRAFT_TOP, TOP, load  # noqa: E402
from layers import Sinkhorn  # noqa: E402
from make_goldens import DRAFT_AT, synthesise  # noqa: E402
from model import Backbone, State  # noqa: E402
from oracle import Oracle, round_fp4_e4m3, round_fp4_e8m0, round_fp8  # noqa: E402

LIMIT = 1e-4


def model_of(config, target, draft):
    names = {f.name for f in dataclasses.fields(Config)}
    sizes = {k: tuple(v) if isinstance(v, list) else v for k, v in config.items() if k in names}
    sizes |= {
        "moe_inter": target["blk.0.ffn_gate_exps.weight"].shape[-2], "markov_rank": draft["markov_w1.weight"].shape[-1],
        "engram_heads": config["primes"].shape[-1], "engram_start": 0, "name": "parity",
        "engram_head_dim": target[f"blk.{config['engram_layers'][0]}.engram_embed.weight"].shape[-1],
    }  # fmt: skip
    c = Config(**sizes)
    # the file's pad is the raw id, and so is ours
    c.engram_pad_token_id = config["engram_pad_id"]
    model = Backbone(c, config["token_map"], (config["primes"], config["offsets"], config["multipliers"]))
    drafter = Drafter(c, model.switches)
    with torch.no_grad():
        load(model, target, TOP, "layers")
        load(drafter, draft, DRAFT_TOP, "stages")
        drafter.noise.copy_(model.embed.weight[c.draft_noise_id])
    return c, model, drafter


def close(what, found, expected, limit=LIMIT):
    found, expected = np.asarray(found), np.asarray(expected)
    difference = float(np.abs(found - expected).max())
    print(f"  {what}: largest difference {difference:.1e} (of values with deviation {np.std(expected):.2g})")
    assert difference <= limit, f"{what}: {difference} > {limit}"


@torch.no_grad()
def compare(tool, name, folder):
    config, target, draft = synthesise(tool, name, folder)
    c, model, drafter = model_of(config, target, draft)
    prompt = np.random.default_rng(11).integers(0, c.vocab, 150)
    oracle = Oracle(config, target, draft, kv_quant=False)
    logits = oracle.forward(prompt)
    ids = torch.from_numpy(prompt)[None]
    out = model(ids)
    print(name)
    close("logits", model.logits(out.hidden)[0], logits)
    close("taps", out.taps[0], oracle.taps)
    state, parts = State(), []
    for first, last in ((0, 1), (1, 30), (30, 31), (31, 77), (77, 150)):
        parts.append(model.logits(model(ids[:, first:last], state).hidden))
    close("logits in chunks", torch.cat(parts, 1)[0], logits)
    model.switches.keys, state = True, State()
    alone = [model(ids[:, i : i + 1], state).hidden for i in range(3)]
    model.switches.keys = False
    assert torch.cat(alone, 1).isfinite().all(), "tokens one by one, with the caches' rounding on"
    anchors = torch.tensor([[t - 1 for t in (*DRAFT_AT, 100, 149)]])
    tokens = torch.from_numpy(logits.argmax(-1))[anchors[0]][None]
    ids_, conf, draft_logits = drafter.draft(model.embed.weight, model.head, drafter.context(out.taps), anchors, tokens)
    taps = oracle.taps
    for i, t in enumerate(anchors[0] + 1):
        oracle.contexts = {}
        oracle.commit_draft_context(taps[: int(t)], 0)
        expected_ids, expected_conf, expected = oracle.draft(int(tokens[0, i]), int(t))
        assert list(ids_[0, i].numpy()) == list(expected_ids), f"drafts at {t}"
        close(f"draft at {int(t)}, all rows", draft_logits[0, i], expected)
        close(f"confidence at {int(t)}", conf[0, i], expected_conf)


def sinkhorn():
    """The custom backward against autograd's through the plain steps, in fp64."""
    def plain(x):
        for step in range(39):
            x = x / (x.sum(-2 if step % 2 == 0 else -1, keepdim=True) + 1e-6)
        return x

    x = torch.rand(7, 4, 4, dtype=torch.float64).add(0.01).requires_grad_()
    g = torch.randn(7, 4, 4, dtype=torch.float64)
    ours, theirs = torch.autograd.grad(Sinkhorn.apply(x, 20, 1e-6), x, g), torch.autograd.grad(plain(x), x, g)
    close("Sinkhorn's gradient", ours[0], theirs[0], 1e-12)
    z = 4 * torch.tensor([[1.0, 0, -1, 2], [0.5, -0.5, 1, 0], [2, 1, 0, -1], [0, 0, 0, 3]])
    first = Sinkhorn.apply(z.softmax(-1) + 1e-6, 20, 1e-6)[0]
    close("Sinkhorn's known row", first, [0.4568625, 0.423777, 8.608319e-4, 0.1067903], 2e-6)


def roundings():
    generator = np.random.default_rng(3)
    x = (generator.standard_normal((64, 96)) * 2.0 ** generator.integers(-12, 9, (64, 1))).astype(np.float32)
    x[0, :14] = [s * m for s in (1, -1) for m in (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)]  # ties
    x[1, :32] = 6.0
    x[2] = 0.0
    for ours, theirs in ((rounding.fp8, round_fp8), (rounding.fp4_e8m0, round_fp4_e8m0), (rounding.fp4_e4m3, round_fp4_e4m3)):
        close(f"{ours.__name__}", ours(torch.from_numpy(x)), theirs(x), 0.0)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.manual_seed(0)
    sinkhorn()
    roundings()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("mini-xs", "mini-xs2"):
            compare(sys.argv[1], name, folder)
    assert set(CONFIGS) == {"mini", "tiny"}
    print("parity holds")


if __name__ == "__main__":
    main()
