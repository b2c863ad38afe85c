#!/usr/bin/env python3
"""The scan of held-out text: prompts lie within documents and are texts, the rule alone decides what is kept, and an interval
is of documents, not of texts."""
import os
import sys

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import drafting  # noqa: E402
import tokenizer as tok  # noqa: E402
from prepare import encoded  # noqa: E402
from size_test import made  # noqa: E402

CHECKPOINT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../checkpoint")


def prompts_are_texts():
    codec = tok.load(CHECKPOINT)
    documents = ["The keeper had not spoken for days. " * 9, "short", "关关雎鸠，在河之洲。窈窕淑女，君子好逑。" * 6]
    found, document = drafting.windows(encoded(codec, documents), 16, 3, codec)
    assert set(document) == {0, 2}, "a document shorter than a prompt has none"
    for ids, number in zip(found.tolist(), document):
        text = codec.decode(ids, skip_special_tokens=False)
        assert text in documents[number] and codec.encode(text, add_special_tokens=False).ids == ids, text


@torch.no_grad()
def the_rule_decides():
    c, model, drafter, _ = made("tiny", 300)
    random = np.random.default_rng(6)
    prompts = torch.from_numpy(random.integers(0, c.vocab - 1, (12, 20)))
    document = random.integers(0, 4, 12)
    found, kept = drafting.scan(model, drafter, prompts, document, 24, 0.875)  # a random model repeats little
    alone = torch.cat([drafting.continued(model, prompts[i : i + 1], 24) for i in range(12)])
    expected = [len(set(row[20:])) >= 21 for row in alone.tolist()]
    assert kept.tolist() == expected and found["kept"]["texts"] == sum(expected), found
    assert 0 < sum(expected) < 12, "both sides of the rule are there"
    assert found["all"]["texts"] == sum(band["texts"] for band in found["bands"]) == 12
    assert found["all"]["tokens_per_pass"] == 23 / drafting.passes(model, drafter, alone, 20).mean().item()


def documents_are_the_unit():
    taken, document = np.array([2.0] * 50 + [4.0] * 50), np.array([0] * 50 + [1] * 50)
    assert drafting.interval(8, taken, document) == [2.0, 4.0], "two documents: either may be drawn twice"
    low, high = drafting.interval(8, taken, np.arange(100))
    assert 2.4 < low < 8 / 3 < high < 3, (low, high)
    assert drafting.interval(8, taken, np.zeros(100)) is None


def main():
    torch.manual_seed(0)
    prompts_are_texts()
    the_rule_decides()
    documents_are_the_unit()
    print("the scan keeps to its rule")


if __name__ == "__main__":
    main()
