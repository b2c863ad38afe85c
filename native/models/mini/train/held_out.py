#!/usr/bin/env python3
"""Held-out text for measuring: python3 held_out.py TEXT PROTOCOLS

TEXT is the output of text/build.py. Writes PROTOCOLS/texts/CLASS.txt, of which scores are made, and
PROTOCOLS/prompts/held-out/CLASS.yaml, which are to be continued: beginnings of lines (of sentences in prose) of other documents,
where there are enough. Nothing of it was trained on, nor used to choose anything. The same text gives the same files."""
import json
import os
import re
import sys

import numpy as np

from prepare import texts
from text.classes import CLASSES

TEXT_BYTES, PROMPTS, WARMUP, PROMPT_BYTES = 50_000, 16, 6, 420
ABOUT = {
    "prose": "Speeches, a novel and two dictionaries of wit, cut at the beginning of a sentence.",
    "code": "Source files of several languages, cut at the beginning of a line.",
    "docs": "Technical documentation, cut at the beginning of a line.",
    "chinese": "Classical Chinese poetry and prose, cut at the beginning of a line.",
    "enumeration": "Generated lists and tables, cut at the beginning of a line.",
}


def cut(text, size):
    """The longest beginning of at most `size` bytes that ends at a character."""
    return text.encode()[:size].decode(errors="ignore")


def prompt(text, name, random):
    starts = [m.end() for m in re.finditer(r"[.!?]\s+(?=[A-Z])" if name == "prose" else r"\n(?=\S)", text)] or [0]
    starts = [s for s in starts if len(text[s:].encode()) >= PROMPT_BYTES] or [0]
    return cut(text[int(random.choice(starts)) :], PROMPT_BYTES)


def write_prompts(path, name, about, prompts, warmup):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"summary: {about}\nprompts:\n")
        for number, text in enumerate([*prompts, *warmup]):
            if number == len(prompts):
                file.write("warmup:\n")
            file.write(f"  - id: {name}-{number + 1}\n    text: {json.dumps(text, ensure_ascii=False)}\n")


def main():
    source, out = sys.argv[1:3]
    random = np.random.default_rng(12)
    os.makedirs(os.path.join(out, "texts"), exist_ok=True)
    os.makedirs(os.path.join(out, "prompts", "held-out"), exist_ok=True)
    for name in CLASSES:
        documents = texts(source, "heldout", name)
        random.shuffle(documents)
        half = max(1, len(documents) // 2)
        joined = cut("\n".join(documents[:half]), TEXT_BYTES)
        with open(os.path.join(out, "texts", name + ".txt"), "w", encoding="utf-8") as file:
            file.write(joined)
        sizes = np.array([len(text) for text in documents[half:]], float)
        found = []  # of which none is a part of another
        while len(found) < PROMPTS + WARMUP:
            which = int(random.choice(len(sizes), p=sizes / sizes.sum()))
            text = prompt(documents[half + which], name, random)
            if not any(text[:40] in other or other[:40] in text for other in found):
                found.append(text)
        write_prompts(os.path.join(out, "prompts", "held-out", name + ".yaml"), name, ABOUT[name], found[:PROMPTS], found[PROMPTS:])
        print(f"{name}: {len(joined.encode())} bytes of text, {PROMPTS} prompts")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
