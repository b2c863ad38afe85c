#!/usr/bin/env python3
"""Text to what a training run reads: python3 prepare.py TEXT OUT [--vocab 4096] [--tokenizer FOLDER]

TEXT is the output of text/build.py. Trains the tokenizer (or takes that of FOLDER), encodes every part of every class, and
writes OUT/tokenizer.json, tokenizer_config.json, tokenizer_golden.json and OUT/bundle.npz: for each part and class the ids of
all documents, each between begin and end of sequence, as uint16. The bundle is all that travels to the machine that trains."""
import argparse
import json
import os
import random

import numpy as np

import engram
import tokenizer as tok
from text.classes import CLASSES, PARTS

TRAINER_BYTES = {"prose": 3_000_000, "code": 4_000_000, "docs": 3_000_000, "chinese": 1_000_000, "enumeration": 1_000_000}


def texts(folder, part, name):
    with open(os.path.join(folder, part, name + ".jsonl"), encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]


def sample(folder):
    """Documents of the training part alone, drawn with a fixed seed: what merges are learnt from."""
    for name, most in TRAINER_BYTES.items():
        documents = texts(folder, "train", name)
        random.Random(1).shuffle(documents)
        size = 0
        for text in documents:
            if size >= most:
                break
            size += len(text.encode())
            yield text


def encoded(tokenizer, documents):
    tokenizer.encode_special_tokens = True  # "<think>" in a text is text
    out = []
    for encoding in tokenizer.encode_batch(documents, add_special_tokens=False):
        out += [tok.BOS, *encoding.ids, tok.EOS]
    return np.array(out, np.uint16)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("out")
    parser.add_argument("--vocab", type=int, default=4096)
    parser.add_argument("--tokenizer", help="a folder whose tokenizer.json is used as it is")
    args = parser.parse_args()
    tokenizer = tok.load(args.tokenizer) if args.tokenizer else tok.train(sample(args.text), args.vocab)
    tok.save(tokenizer, args.out)
    compressed, count = engram.token_map(*tok.raw_and_decoded(tokenizer))
    arrays = {"compressed": np.array(compressed, np.uint16), "token_bytes": np.array(tok.byte_lengths(tokenizer), np.uint8)}
    for part in PARTS:
        for name in CLASSES:
            documents = texts(args.text, part, name)
            ids = arrays[f"{part}.{name}"] = encoded(tokenizer, documents)
            size = sum(len(text.encode()) for text in documents)
            assert int(arrays["token_bytes"][ids].sum()) == size, f"{part}/{name}: ids stand for other bytes than the text"
            print(f"{part:10} {name:11} {size / 1e6:6.2f} MB {len(ids):9} tokens, {size / max(1, len(ids)):.2f} bytes a token", flush=True)
    np.savez_compressed(os.path.join(args.out, "bundle.npz"), **arrays)
    print(f"{tokenizer.get_vocab_size()} tokens, {count} compressed; {os.path.getsize(os.path.join(args.out, 'bundle.npz')) / 1e6:.1f} MB bundle")


if __name__ == "__main__":
    main()
