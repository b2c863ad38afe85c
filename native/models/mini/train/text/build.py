#!/usr/bin/env python3
"""Builds the text of the mini model: python3 build.py OUT [--cache FOLDER]

Fetches the packages of sources.json, cuts them into documents, drops repeats, splits into train, validation and held-out by
a hash of a document's name, and removes from validation and held-out whatever near-duplicates the other parts. Writes
OUT/{train,validation,heldout}/CLASS.jsonl, one {"id", "text"} a line, and OUT/text.json: bytes, documents, SHA-256 of each.
Where text.json beside this script names other digests, it says so and ends with exit code 1. Deterministic; needs numpy."""
import argparse
import hashlib
import json
import os
import sys

import dedup
import enumerations
from classes import CLASSES, PARTS
from extract import documents, wanted
from fetch import fetch, members

HERE = os.path.dirname(os.path.abspath(__file__))
HELD_BYTES = 240_000  # a class, in validation and in held-out each; less remains after near-duplicates are gone
ENUMERATION_BYTES = {"train": 4_000_000, "validation": 330_000, "heldout": 330_000}
ENUMERATION_SEEDS = {"train": 1, "validation": 2, "heldout": 3}
SHARED = 0.2  # a held-out document with more of its shingles in the training text is dropped


def rank(id_):
    """A number in [0, 1) that a document's name alone decides."""
    return int.from_bytes(hashlib.sha256(id_.encode()).digest()[:8], "big") / 2**64


def capped(docs, cap):
    """Documents in the order of their rank until `cap` bytes are there, so that no folder's end is cut off."""
    chosen, size = [], 0
    for doc in sorted(docs, key=lambda d: rank(d[0])):
        if cap and size >= cap:
            break
        size += len(doc[1].encode())
        chosen.append(doc)
    return chosen


def gather(cache):
    """{class: [(id, text)]} of all sources, and bytes a source gave."""
    with open(os.path.join(HERE, "sources.json"), encoding="utf-8") as file:
        sources = json.load(file)
    docs, given = {name: [] for name in CLASSES}, []
    for source in sources:
        found = capped(documents(source, members(source, fetch(source, cache), wanted(source))), source.get("cap"))
        if not found:
            raise SystemExit(f"{source['package']}: its patterns choose no text")
        docs[source["class"]] += found
        given.append((source["package"], sum(len(text.encode()) for _, text in found)))
        print(f"{given[-1][1] / 1e6:7.2f} MB  {source['class']:8}  {source['package']} {source['version']}", flush=True)
    return docs, given


def file_of(id_):
    """What must stay on one side of the split: pieces of a file, and a file's siblings of the same name, are alike."""
    return id_.split("#")[0].rsplit("/", 1)[0] if "#" not in id_ else id_.rsplit("/", 1)[0]


def split(docs):
    """Three lists: held-out and validation take whole files by rank until they are full, train takes the rest."""
    docs = [docs[i] for i in dedup.without_repeats([text for _, text in docs])]
    parts, sizes = {name: [] for name in PARTS}, {"heldout": 0, "validation": 0}
    place = {}
    for id_, text in sorted(docs, key=lambda d: (rank("split:" + file_of(d[0])), d[0])):
        key = file_of(id_)
        if key not in place:
            place[key] = next((p for p in ("heldout", "validation") if sizes[p] < HELD_BYTES), "train")
        if place[key] != "train":
            if sizes[place[key]] >= 2 * HELD_BYTES:
                continue
            sizes[place[key]] += len(text.encode())
        parts[place[key]].append((id_, text))
    return parts


def generated():
    return {p: list(enumerations.documents(ENUMERATION_SEEDS[p], ENUMERATION_BYTES[p])) for p in PARTS}


def clean(parts):
    """Validation and held-out without what the training text has, and held-out without what validation has."""
    train = dedup.union([dedup.shingles(text) for docs in parts.values() for _, text in docs["train"]])
    for name, docs in parts.items():
        before = {p: len(docs[p]) for p in ("validation", "heldout")}
        kept, sets = [], []
        for id_, text in docs["validation"]:
            found = dedup.shingles(text)
            if dedup.containment(found, train) <= SHARED:
                kept.append((id_, text))
                sets.append(found)
        docs["validation"] = kept
        both = dedup.union([train, *sets])
        docs["heldout"] = [d for d in docs["heldout"] if dedup.containment(dedup.shingles(d[1]), both) <= SHARED]
        after = {p: len(docs[p]) for p in before}
        print(f"{name}: near-duplicates dropped: {({p: before[p] - after[p] for p in before})}", flush=True)


def limited(docs, most):
    size, kept = 0, []
    for id_, text in docs:
        if size + len(text.encode()) <= most:
            size += len(text.encode())
            kept.append((id_, text))
    return kept


def write(parts, out):
    facts = {}
    for part in PARTS:
        os.makedirs(os.path.join(out, part), exist_ok=True)
        for name in CLASSES:
            docs = parts[name][part]
            lines = "".join(json.dumps({"id": i, "text": t}, ensure_ascii=False) + "\n" for i, t in docs).encode()
            with open(os.path.join(out, part, name + ".jsonl"), "wb") as file:
                file.write(lines)
            size = sum(len(t.encode()) for _, t in docs)
            facts[f"{part}/{name}"] = {"documents": len(docs), "bytes": size, "sha256": hashlib.sha256(lines).hexdigest()}
    return facts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--cache", default=os.path.expanduser("~/.cache/rota-mini-text"))
    args = parser.parse_args()
    docs, given = gather(args.cache)
    print("splitting", flush=True)
    parts = {name: split(docs[name]) for name in CLASSES if name != "enumeration"}
    parts["enumeration"] = generated()
    clean(parts)
    for name in CLASSES:
        for part in ("validation", "heldout"):
            parts[name][part] = limited(parts[name][part], HELD_BYTES)
    facts = write(parts, args.out)
    with open(os.path.join(args.out, "text.json"), "w", encoding="utf-8") as file:
        json.dump({"sources": dict(given), "parts": facts}, file, indent=1)
        file.write("\n")
    for key, fact in facts.items():
        print(f"{fact['bytes'] / 1e6:7.2f} MB {fact['documents']:6} documents  {key}")
    expected = os.path.join(HERE, "text.json")
    if os.path.exists(expected):
        with open(expected, encoding="utf-8") as file:
            known = json.load(file)["parts"]
        wrong = [key for key in facts if facts[key] != known.get(key)]
        print("as recorded in text.json" if not wrong else f"differs from text.json: {', '.join(wrong)}")
        return 1 if wrong else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
