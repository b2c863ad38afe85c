#!/usr/bin/env python3
"""Decoders of gguf_model.py against the project's own encoders: python3 gguf_model_test.py PATH/TO/rota-model

A synthetic model has few values, which some formats hold exactly and others by a rule that says what becomes of them
(native/formats/README.md); and the bundled checkpoint, converted without loss, must be the checkpoint to the last bit."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import checkpoint  # noqa: E402
import gguf_model  # noqa: E402
from config import CONFIGS  # noqa: E402
from draft import Drafter  # noqa: E402
from gguf_model import DECODERS, FORMATS, gguf_file, joined  # noqa: E402
from model import Backbone  # noqa: E402

CHECKPOINT = os.path.join(HERE, "../checkpoint")


def synthesised(tool, folder, name):
    path = os.path.join(folder, name + ".gguf")
    formats = ["--expert-format", name, "--dense-format", name]
    subprocess.run([tool, "synth", "--config", "mini-four", "--values", "grid", *formats, "--out", path], check=True, capture_output=True)
    return gguf_file.read(path, DECODERS)[1]


def coded(w, block, scale, lowest, highest):
    """What an encoder of one scale a block makes of w: codes to nearest, half away from zero, clamped."""
    groups = w.reshape(-1, block)
    d = scale(np.abs(groups).max(1, keepdims=True)).astype(np.float16).astype(np.float32)
    ratio = groups / np.where(d == 0, 1, d)
    return (np.clip(np.copysign(np.floor(np.abs(ratio) + 0.5), ratio), lowest, highest) * d).reshape(w.shape)


RULES = {
    "Q8_0": lambda w: coded(w, 32, lambda amax: amax / np.float32(127), -127, 127),
    "Q2_0": lambda w: coded(w, 64, lambda amax: amax, -1, 2),
    "PTQ1_0": lambda w: coded(w, 128, lambda amax: amax, -1, 1),
}


def formats(tool, folder):
    plain = joined(synthesised(tool, folder, "F32"))
    for name in FORMATS.values():
        found = joined(synthesised(tool, folder, name))
        assert found.keys() == plain.keys()
        same = {n: np.array_equal(found[n], plain[n]) for n in plain}
        wrong = [n for n in plain if not same[n] and not (name in RULES and np.array_equal(found[n], RULES[name](plain[n])))]
        assert not wrong, f"{name}: {wrong[:3]}"
        print(f"  {name}: {sum(same.values())} tensors as F32 has them, {len(same) - sum(same.values())} by the encoder's rule")


@torch.no_grad()
def the_checkpoint(tool, folder):
    path = os.path.join(folder, "mini.gguf")
    subprocess.run([tool, "convert", CHECKPOINT, "--out", path], check=True, capture_output=True)
    modules = []
    for restore, source in ((checkpoint.restore, CHECKPOINT), (gguf_model.restore, path)):
        c = CONFIGS["mini"].named(gguf_file.read(path, DECODERS)[0]["deepseek41.engram.compressed_vocab_size"])
        model = Backbone(c, list(range(c.vocab)))
        drafter = Drafter(c, model.switches)
        modules.append(({"map": restore(model, drafter, source)}, model.state_dict(), drafter.state_dict()))
    for ours, theirs in zip(*modules):
        assert ours.keys() == theirs.keys()
        for name, value in ours.items():
            assert torch.equal(torch.as_tensor(value), torch.as_tensor(theirs[name])), name
    print("  the bundled checkpoint and its conversion are one model")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        formats(sys.argv[1], folder)
        the_checkpoint(sys.argv[1], folder)
    print("blocks decode")


if __name__ == "__main__":
    main()
