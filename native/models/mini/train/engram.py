"""Engram's hash: tables that a config implies, compressed token ids, rows of a sequence of ids. Knows no weights."""
import unicodedata

import numpy as np
import torch


def is_prime(n):
    return n >= 2 and all(n % i for i in range(2, int(n**0.5) + 1))


def tables(c):
    """primes, offsets [layers, orders, heads] and multipliers [layers, max_ngram], int64: the released model's rule."""
    seen, primes = set(), []
    for _ in c.engram_layers:
        for _ in range(c.engram_max_ngram - 1):
            current = c.engram_start - 1
            for _ in range(c.engram_heads):
                current += 1
                while not is_prime(current) or current in seen:
                    current += 1
                seen.add(current)
                primes.append(current)
    primes = np.array(primes, np.int64).reshape(len(c.engram_layers), c.engram_max_ngram - 1, c.engram_heads)
    flat = primes.reshape(len(c.engram_layers), -1)
    offsets = np.concatenate([np.zeros((len(flat), 1), np.int64), np.cumsum(flat, 1)[:, :-1]], 1).reshape(primes.shape)
    bound = max(1, (np.iinfo(np.int64).max // c.engram_compressed_vocab) // 2)
    draw = lambda layer: np.random.default_rng(10007 * layer).integers(0, bound, size=c.engram_max_ngram, dtype=np.int64)
    return primes, offsets, np.stack([draw(layer) * 2 + 1 for layer in c.engram_layers])


def normalised(text):
    """The released tokenizer's rule: NFKC, NFD, no marks, lower case, white space joined and stripped; a lone space stays."""
    text = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text))
    text = "".join(ch for ch in text if not unicodedata.category(ch) in ("Mn", "Mc")).lower()
    out = ""
    for ch in text:
        ch = " " if ch in " \t\r\n" else ch
        out += "" if ch == " " and out.endswith(" ") else ch
    return out if out == " " else out.strip()


def token_map(raw, decoded):
    """Compressed id of every token id, in first-seen order. raw: the tokens as the vocabulary spells them; decoded: as text."""
    ids, compressed = {}, []
    for token, text in zip(raw, decoded):
        key = token if "\ufffd" in text else (normalised(text) or text)
        compressed.append(ids.setdefault(key, len(ids)))
    return compressed, len(ids)


class Hash(torch.nn.Module):
    """Rows [B, n, layers, columns] for compressed ids; nothing in it is trained."""

    def __init__(self, c, compressed, tables_=None):
        super().__init__()
        primes, offsets, multipliers = tables_ or tables(c)
        keep = lambda name, value: self.register_buffer(name, torch.as_tensor(np.asarray(value), dtype=torch.int64), persistent=False)
        keep("map", compressed)
        keep("primes", primes)
        keep("offsets", offsets)
        keep("multipliers", multipliers)
        self.pad = int(compressed[c.engram_pad_token_id])
        self.orders = c.engram_max_ngram

    def forward(self, ids, past=None):
        """ids [B, n] raw tokens; past [B, <= orders - 1] raw tokens before them, or None at a sequence's start."""
        known = ids if past is None else torch.cat([past, ids], 1)
        known = torch.nn.functional.pad(self.map[known], (self.orders - 1, 0), value=self.pad)
        looks = [known[:, known.shape[1] - ids.shape[1] - i : known.shape[1] - i] for i in range(self.orders)]
        roll = looks[0][..., None] * self.multipliers[:, 0]
        out = []
        for i in range(1, self.orders):
            roll = roll ^ (looks[i][..., None] * self.multipliers[:, i])
            out.append(roll[..., None] % self.primes[:, i - 1] + self.offsets[:, i - 1])
        return torch.cat(out, -1)
