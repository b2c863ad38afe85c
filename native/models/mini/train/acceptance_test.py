#!/usr/bin/env python3
"""What acceptance.py computes along a path against speculation as it is defined: drafts drawn from q, accepted with min(1, p/q),
else the residual, every outcome weighed. And where a path is the drafter's own, against the drafter's logits."""
import itertools
import os
import sys

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from acceptance import Path, distinct, starts  # noqa: E402
from size_test import made  # noqa: E402

VOCAB, BLOCK, TOKENS = 3, 2, 5


def expected_passes(p, q, last, left):
    """Of `left` tokens after `last`; p, q [vocab, vocab] by the token before. A pass drafts what is still wanted behind its own."""
    if left == 0:
        return 0.0

    def after(before, drafts, count, weight):
        """Passes behind this one, where `count` tokens of it are known and `drafts` more may come."""
        if drafts == 0:
            return weight * sum(p[before, v] * expected_passes(p, q, v, left - count - 1) for v in range(VOCAB))
        kept, rest = np.minimum(p[before], q[before]), np.maximum(p[before] - q[before], 0)
        total = sum(after(v, drafts - 1, count + 1, weight * kept[v]) for v in range(VOCAB))
        return total + weight * sum(rest[v] * expected_passes(p, q, v, left - count - 1) for v in range(VOCAB))

    return 1 + after(last, min(BLOCK, left - 1), 0, 1.0)


def along_paths(p, q):
    """The same by paths: each weighed with its probability, passes by starts()."""
    total = 0.0
    for path in itertools.product(range(VOCAB), repeat=TOKENS):
        steps = list(zip((0, *path), path))
        chance = [min(1.0, q[a, b] / p[a, b]) for a, b in steps]
        stands = [[chance[at + i] if at + i < TOKENS else 0.0 for i in range(BLOCK)] for at in range(TOKENS)]
        total += np.prod([p[a, b] for a, b in steps]) * starts(torch.tensor([stands], dtype=torch.float64)).sum().item()
    return total


def rejection_sampling():
    random = np.random.default_rng(4)
    for _ in range(3):
        p, q = random.dirichlet(np.full(VOCAB, 0.7), (2, VOCAB))
        defined, found = expected_passes(p, q, 0, TOKENS), along_paths(p, q)
        print(f"  {TOKENS} tokens: {defined:.6f} passes as defined, {found:.6f} along paths")
        assert abs(defined - found) < 1e-9 and 1 < defined < TOKENS


def greedy_walk():
    random = np.random.default_rng(5)
    stands = random.random((20, 30, 5)) < 0.7
    for text, found in zip(stands, starts(torch.from_numpy(stands).double())):
        at, walked = 0, []
        while at < 30:
            walked.append(at)
            at += int(text[at].cumprod().sum()) + 1
        assert found.nonzero()[:, 0].tolist() == walked and found.sum() == len(walked)


@torch.no_grad()
def drafters_own_path():
    c, model, drafter, _ = made("tiny", 300)
    before, place, t = 40, 3, 0.8
    ids = torch.randint(0, c.vocab - 1, (2, before + 12), generator=torch.Generator().manual_seed(2))
    anchors = torch.full((2, 1), before + place - 1)
    token = ids[:, before + place, None]
    drafts, _, logits = drafter.draft(model.embed.value(), model.head, drafter.context(model(ids).taps), anchors, token)
    first = before + place + 1
    ids[:, first : first + c.draft_block] = drafts[:, 0]
    path = Path(model, drafter, ids, before)
    assert path.agreement()[0][:, place].all(), "its own drafts stand"
    target = model.logits(model(ids).hidden)[:, first - 1 : first - 1 + c.draft_block]
    target[..., c.draft_noise_id] = float("-inf")
    p, q = ((z / t).softmax(-1).gather(-1, drafts[:, 0, :, None])[..., 0] for z in (target, logits[:, 0]))
    found = path.chance(t)
    assert torch.allclose(found[:, place], (q / p).clamp(max=1).double(), atol=1e-5), (found[:, place], q / p)
    assert not any(stands[:, -1, 1:].any() for stands in (found, path.agreement()[0])), "nothing stands past the end"


def main():
    torch.manual_seed(0)
    rejection_sampling()
    greedy_walk()
    drafters_own_path()
    assert distinct(torch.tensor([[1, 1, 2, 3], [5, 5, 5, 5]])).tolist() == [0.75, 0.25]
    print("acceptance holds")


if __name__ == "__main__":
    main()
