"""Finds text that two documents share. Owns shingles and what counts as a near-duplicate; knows no files.

A shingle is 8 words in a row (8 characters where Chinese stands without spaces). A document's containment in a set is the
share of its shingles that the set has. Exact sets of 64-bit shingle hashes are small enough here (a few million), so
nothing is sampled: MinHash would only estimate the same share."""
import functools
import hashlib
import re

import numpy as np

WIDTH = 8
# A word, a Chinese character, or a mark: indentation and line breaks do not hide a copy.
WORD = re.compile(r"[\u3400-\u9fff]|[^\W_]+|[^\w\s]|_+")
_hashes = {}


def word_hash(word):
    value = _hashes.get(word)
    if value is None:
        value = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
        _hashes[word] = value
    return value


@functools.cache
def shingles(text):
    """Sorted distinct hashes of a text's shingles, uint64. Kept, since a text is asked for more than once."""
    words = np.fromiter((word_hash(w.lower()) for w in WORD.findall(text)), np.uint64)
    if len(words) < WIDTH:
        return np.unique(words)
    rolled = np.zeros(len(words) - WIDTH + 1, np.uint64)
    with np.errstate(over="ignore"):
        for i in range(WIDTH):
            rolled = rolled * np.uint64(0x9E3779B97F4A7C15) + words[i : i + len(rolled)]
            rolled ^= rolled >> np.uint64(29)
    return np.unique(rolled)


def containment(some, many):
    """Share of the sorted shingles `some` that are in the sorted shingles `many`."""
    if len(some) == 0 or len(many) == 0:
        return 0.0
    at = np.searchsorted(many, some)
    return float((many[np.minimum(at, len(many) - 1)] == some).mean())


def union(sets):
    return np.unique(np.concatenate(sets)) if sets else np.zeros(0, np.uint64)


class Seen:
    """Shingles seen so far. Adding in batches keeps it a handful of sorted arrays instead of one that is sorted each time."""

    def __init__(self):
        self.arrays = []

    def share(self, some):
        if len(some) == 0:
            return 0.0
        hit = np.zeros(len(some), bool)
        for array in self.arrays:
            at = np.searchsorted(array, some)
            hit |= array[np.minimum(at, len(array) - 1)] == some
        return float(hit.mean())

    def add(self, some):
        if len(some) == 0:
            return
        self.arrays.append(some)
        while len(self.arrays) > 1 and len(self.arrays[-2]) < 2 * len(self.arrays[-1]):
            last = self.arrays.pop()
            self.arrays[-1] = np.union1d(self.arrays[-1], last)


def without_repeats(texts, most=0.5):
    """Indices of the texts that are kept when those with more than `most` of their shingles seen before are dropped."""
    seen, kept = Seen(), []
    for i, text in enumerate(texts):
        found = shingles(text)
        if seen.share(found) <= most:
            kept.append(i)
            seen.add(found)
    return kept
