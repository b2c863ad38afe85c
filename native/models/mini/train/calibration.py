#!/usr/bin/env python3
"""What the shipped model's experts are fitted on: python3 calibration.py TEXT CHECKPOINT OUT

TEXT is the output of text/build.py, CHECKPOINT has the tokenizer. Takes windows of the validation part, which no training step
has seen and no score is measured on; documents for OUT/fit.ids and OUT/held.ids are apart. A line is a window: ids, spaces
between. The same text gives the same files."""
import os
import sys

import numpy as np

import tokenizer as tok
from prepare import encoded, texts
from text.classes import CLASSES

LENGTH = 512
WINDOWS = {"fit": 9, "held": 3}  # a class


def windows(tokenizer, documents, count, random):
    """[count] windows, of documents in proportion to their length; one shorter than a window is taken whole."""
    ids = [encoded(tokenizer, [text]) for text in documents]
    sizes = np.array([len(i) for i in ids], float)
    out = []
    for which in random.choice(len(ids), count, p=sizes / sizes.sum()):
        start = int(random.integers(0, max(1, len(ids[which]) - LENGTH + 1)))
        out.append(ids[which][start : start + LENGTH])
    return out


def main():
    text, checkpoint, out = sys.argv[1:4]
    tokenizer, random = tok.load(checkpoint), np.random.default_rng(11)
    lines = {name: [] for name in WINDOWS}
    for name in CLASSES:
        documents = texts(text, "validation", name)
        cut = max(1, len(documents) // 4)
        for part, of in (("fit", documents[cut:]), ("held", documents[:cut])):
            lines[part] += windows(tokenizer, of, WINDOWS[part], random)
    os.makedirs(out, exist_ok=True)
    for part, found in lines.items():
        with open(os.path.join(out, part + ".ids"), "w", encoding="ascii") as file:
            file.writelines(" ".join(map(str, ids)) + "\n" for ids in found)
        print(f"{part}: {len(found)} windows, {sum(map(len, found))} tokens")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main()
