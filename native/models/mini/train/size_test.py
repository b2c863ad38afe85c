#!/usr/bin/env python3
"""The shipped model fits: 34 MB in files of at most 16 MB, counted from what would be written, headers and JSON included. And
what is written reads back: the same logits as the training code with its weights rounded."""
import os
import sys
import tempfile

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import checkpoint  # noqa: E402
from config import CONFIGS, yarn_range  # noqa: E402
from draft import Drafter  # noqa: E402
from model import Backbone  # noqa: E402

MOST_BYTES, MOST_OF_A_FILE = 34_000_000, 16_000_000
TOKENIZER_ROOM = 300_000


def made(name, compressed_vocab):
    c = CONFIGS[name].named(compressed_vocab)
    compressed = [i % compressed_vocab for i in range(c.vocab)]
    torch.manual_seed(1)
    model = Backbone(c, compressed)
    return c, model, Drafter(c, model.switches), compressed


def shape_rules(c):
    """What the reference asks of a mini (section 6): rows of whole blocks, a pool that is not too small, a ramp inside."""
    low, high = yarn_range(c)
    rows = (c.dim, c.moe_inter, c.q_lora, c.head_dim, c.o_groups * c.o_lora, c.heads * c.head_dim // c.o_groups, c.engram_head_dim, c.index_head_dim)
    assert all(row % 32 == 0 for row in rows), rows
    assert (c.candidate_blocks - 1) * c.candidate_block_size + 1 >= c.index_topk
    assert 0 < low < high < c.rope_dim // 2, (low, high)
    assert c.window >= c.draft_block and c.index_heads >= 16


@torch.no_grad()
def reads_back(folder):
    c, model, drafter, compressed = made("tiny", 300)
    checkpoint.write(folder, model, drafter, compressed)
    ids = torch.randint(0, c.vocab - 1, (2, 70))
    model.switches.weights = True
    expected = model(ids)
    drafts = drafter.draft(model.embed.value(), model.head, drafter.context(expected.taps), torch.tensor([[30], [64]]), ids[:, 65:66])
    model.switches.weights = False
    again = made("tiny", 300)
    for p in (*again[1].parameters(), *again[2].parameters()):
        p.zero_()
    checkpoint.restore(again[1], again[2], folder)
    found = again[1](ids)
    found_drafts = again[2].draft(again[1].embed.weight, again[1].head, again[2].context(found.taps), torch.tensor([[30], [64]]), ids[:, 65:66])
    for a, b in ((found.hidden, expected.hidden), (found.taps, expected.taps), (found_drafts[2], drafts[2]), (found_drafts[1], drafts[1])):
        assert (a - b).abs().max() < 1e-3, (a - b).abs().max()
    print("a tiny checkpoint reads back")


def main():
    for name in CONFIGS:
        shape_rules(CONFIGS[name])
    with tempfile.TemporaryDirectory() as folder:
        reads_back(os.path.join(folder, "tiny"))
        c, model, drafter, compressed = made("mini", 3200)
        params = sum(p.numel() for p in (*model.parameters(), *drafter.parameters()))
        sizes = checkpoint.write(os.path.join(folder, "mini"), model.to("meta"), drafter.to("meta"), compressed)
    total = sum(sizes.values()) + TOKENIZER_ROOM
    print(f"mini: {params / 1e6:.1f} M parameters, {total / 1e6:.2f} MB with tokenizer: {sizes}")
    assert total <= MOST_BYTES, total
    assert max(sizes.values()) <= MOST_OF_A_FILE, sizes


if __name__ == "__main__":
    main()
