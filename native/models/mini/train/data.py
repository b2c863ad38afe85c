"""Batches of token ids from a bundle (prepare.py). Owns the mix of classes and where windows begin; seeded."""
import os

import numpy as np
import torch

from text.classes import CLASSES

# By how much text there is of each: about 41 M tokens read prose and docs less than three times, at which point more repeats
# of them stop helping text that was not seen.
MIX = {"prose": 0.25, "code": 0.32, "docs": 0.24, "chinese": 0.06, "enumeration": 0.13}


class Bundle:
    def __init__(self, folder, device):
        arrays = np.load(os.path.join(folder, "bundle.npz"))
        self.device = device
        self.compressed = arrays["compressed"].astype(np.int64).tolist()
        self.token_bytes = torch.from_numpy(arrays["token_bytes"].astype(np.int64)).to(device)
        self.ids = {k: torch.from_numpy(arrays[k].astype(np.int32)).to(device) for k in arrays.files if "." in k}
        self.vocab = len(self.compressed)

    def part(self, part, name):
        return self.ids[f"{part}.{name}"]


def windows(ids, starts, length):
    return ids[starts[:, None] + torch.arange(length, device=ids.device)].long()


class Batches:
    """Random windows of `length` ids of the training part, classes by MIX; the same seed gives the same batches."""

    def __init__(self, bundle, length, seed):
        self.bundle, self.length = bundle, length
        self.random = np.random.default_rng(seed)
        self.classes = [name for name in CLASSES if len(bundle.part("train", name)) > length]
        weights = np.array([MIX[name] for name in self.classes])
        self.weights = weights / weights.sum()

    def draw(self, count):
        """[count, length] ids"""
        share = self.random.multinomial(count, self.weights)
        out = []
        for name, n in zip(self.classes, share):
            ids = self.bundle.part("train", name)
            starts = torch.from_numpy(self.random.integers(0, len(ids) - self.length, n)).to(ids.device)
            out.append(windows(ids, starts, self.length))
        return torch.cat(out)[torch.from_numpy(self.random.permutation(count)).to(self.bundle.device)]
