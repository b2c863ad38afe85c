#!/usr/bin/env python3
"""Writes blocks_golden.inc: raw MXFP4 and Q2_K blocks and the fp32 bit patterns of their weights.

python3 make_blocks_golden.py > blocks_golden.inc       (needs numpy; the test itself does not)
Written from the layouts, independently of the C++: whole arrays in double, unpacked by reshaping instead of by index
arithmetic; the one rounding is the cast at the end."""
import numpy as np

RNG = np.random.default_rng(39)
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
E2M1 = np.concatenate([E2M1, -E2M1])


def mxfp4(blocks):
    """[n, 17] bytes -> [n, 32] doubles: all low nibbles first, then all high ones."""
    scale = np.ldexp(1.0, blocks[:, :1].astype(int) - 127)
    scale[blocks[:, 0] == 255] = np.nan
    return np.concatenate([E2M1[blocks[:, 1:] & 15], E2M1[blocks[:, 1:] >> 4]], 1) * scale


def q2_k(blocks):
    """[n, 84] bytes -> [n, 256] doubles. qs as [half, byte]; a half's four shifts follow each other."""
    n = len(blocks)
    halves = blocks[:, 80:84].copy().view(np.float16).astype(np.float64)
    qs = blocks[:, 16:80].reshape(n, 2, 1, 32)
    codes = np.concatenate([qs >> s & 3 for s in (0, 2, 4, 6)], 2).reshape(n, 16, 16)
    step = halves[:, :1] * (blocks[:, :16] & 15)
    offset = halves[:, 1:] * (blocks[:, :16] >> 4)
    return (step[..., None] * codes - offset[..., None]).reshape(n, 256)


def mxfp4_blocks():
    blocks = RNG.integers(0, 256, (12, 17), np.uint8)
    blocks[:, 0] = [0, 1, 2, 100, 126, 127, 128, 140, 200, 250, 252, 255]
    blocks[3, 1:] = np.arange(16) * 17  # every code at both places of its byte
    return blocks


def q2_k_blocks():
    blocks = RNG.integers(0, 256, (5, 84), np.uint8)
    # Scales: far apart (the difference rounds), equal, subnormal, negative, ordinary.
    pairs = np.array([[3.14, 2.0e-4], [0.013, 0.013], [3e-7, 1e-7], [-0.5, -0.0123], [0.01, 0.02]])
    blocks[:, 80:84] = pairs.astype(np.float16).view(np.uint8).reshape(5, 4)
    return blocks


def emit(name, blocks, values):
    bits = values.astype(np.float32)
    bits = np.where(np.isnan(bits), np.uint32(0x7FC00000), bits.view(np.uint32))
    for suffix, kind, rows in (("Bytes", "uint8_t", blocks), ("Weights", "uint32_t", bits)):
        print(f"constexpr {kind} k{name}{suffix}[{rows.shape[0]}][{rows.shape[1]}] = {{")
        for row in rows:
            print("{" + ",".join(f"{int(v):#x}" for v in row) + "},")
        print("};")


print("// Written by make_blocks_golden.py; raw blocks, and their weights as fp32 bit patterns.")
for name, blocks, decode in (("Mxfp4", mxfp4_blocks(), mxfp4), ("Q2K", q2_k_blocks(), q2_k)):
    emit(name, blocks, decode(blocks))
