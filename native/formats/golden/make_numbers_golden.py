#!/usr/bin/env python3
"""Writes numbers_golden.inc: inputs and outputs of every conversion and fake quantiser as fp32 bit patterns.

python3 make_numbers_golden.py > numbers_golden.inc     (needs numpy; the test itself does not)
The formulas are written from the definitions (V4.1 reference 2.8), independently of numbers.cc: in double, with tables."""
import numpy as np

F = np.float32
RNG = np.random.default_rng(41)
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def grid_round(x, grid):
    """Nearest value of an ascending non-negative grid by magnitude, ties to the even index, sign kept, saturating."""
    magnitude = np.minimum(np.abs(np.asarray(x, np.float64)), grid[-1])
    upper = np.clip(np.searchsorted(grid, magnitude), 1, len(grid) - 1)
    low, high = grid[upper - 1], grid[upper]
    down, up = magnitude - low, high - magnitude
    pick_upper = (up < down) | ((up == down) & (upper % 2 == 0))
    return np.copysign(np.where(pick_upper, high, low), x).astype(F)


def e4m3_grid():
    values = [m * 2.0**-9 for m in range(8)]
    values += [(1 + m / 8) * 2.0 ** (e - 7) for e in range(1, 16) for m in range(8)]
    return np.array(values[:-1])  # the last pattern is NaN


E4M3 = e4m3_grid()


def pow2_ceil(x):
    mantissa, exponent = np.frexp(np.asarray(x, np.float64))  # mantissa in [0.5, 1)
    return np.ldexp(1.0, exponent - (mantissa == 0.5)).astype(F)


def amax_of(groups):
    return np.abs(groups).max(-1, keepdims=True)


def fake_fp8(groups):
    scale = pow2_ceil(np.maximum(amax_of(groups), F(1e-4)) * F(1 / 448))
    return grid_round(groups / scale, E4M3) * scale


def fake_fp4_e8m0(groups):
    scale = pow2_ceil(np.maximum(amax_of(groups), F(6 * 2.0**-126)) * F(1 / 6))
    return grid_round(groups / scale, E2M1) * scale


def fake_fp4_e4m3(groups):
    scale = grid_round(np.maximum(amax_of(groups), F(6 * 2.0**-9)) / F(6), E4M3)
    return grid_round(groups / scale, E2M1) * scale


def groups_for(block, grid):
    """Random groups of many magnitudes; zeros; groups whose values sit exactly on and beside the grid's ties."""
    rows = [RNG.standard_normal(block) * 10.0**e for e in (-30, -12, -6, -4, -3, -2, -1, 0, 1, 2, 3, 6, 20)]
    rows.append(np.zeros(block))
    rows.append(-np.zeros(block))
    middles = (grid[1:] + grid[:-1]) / 2
    for scale in (2.0**-9, 1.0, 4.0):
        for _ in range(3):
            row = RNG.choice(middles, block) * RNG.choice([-1, 1], block) * scale
            row[0] = grid[-1] * scale  # so that the group's scale is exactly `scale`
            rows.append(row)
            rows.append(np.nextafter(row.astype(F), F(0)))
            rows.append(np.nextafter(row.astype(F), F(np.inf)))
    one = np.zeros(block)
    one[3] = 2.0**-140  # far below every floor of the scales
    rows.append(one)
    vector = np.array([0.3, -1.7, 5, -6.1, 0.01, 2.4, 3.1, -0.9])
    rows.append(np.tile(vector, block // 8))
    return np.array(rows).astype(F)


def scalar_cases():
    ties = (E4M3[1:] + E4M3[:-1]) / 2
    halves = np.arange(0, 31744, 97, dtype=np.uint16).view(np.float16).astype(np.float64)
    half_ties = (halves + (np.arange(0, 31744, 97, dtype=np.uint16) + 1).view(np.float16).astype(np.float64)) / 2
    base = np.concatenate([ties, half_ties, [0, 449, 464, 480, 1e9, 65504, 65519.996, 65520, 65536, 2.0**-25, 2.0**-24]])
    base = base[np.isfinite(base)].astype(F)
    cases = np.concatenate([base, np.nextafter(base, F(0)), np.nextafter(base, F(np.inf))])
    cases = np.concatenate([cases, -cases, (RNG.standard_normal(200) * 10.0 ** RNG.uniform(-9, 5, 200)).astype(F)])
    return np.unique(cases.view(np.uint32)).view(F)


def to_bf16(x):
    """Nearest of the two neighbours in double, ties to even."""
    low = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(F)
    high = ((x.view(np.uint32) >> 16) + 1 << 16).astype(np.uint32).view(F)
    down, up = np.abs(x.astype(np.float64) - low), np.abs(high.astype(np.float64) - x)
    odd = (low.view(np.uint32) >> 16) & 1
    return np.where((up < down) | ((up == down) & (odd == 1)), high, low).astype(F)


def emit(name, *columns):
    print(f"constexpr uint32_t {name}[][{len(columns)}] = {{")
    bits = [np.ascontiguousarray(c, F).reshape(-1).view(np.uint32) for c in columns]
    pairs = ["{" + ",".join(f"{int(v):#x}" for v in row) + "}" for row in zip(*bits)]
    for i in range(0, len(pairs), 4):
        print(",".join(pairs[i : i + 4]) + ",")
    print("};")


print("// Written by make_numbers_golden.py; fp32 bit patterns of input and outputs.")
x = scalar_cases()
with np.errstate(over="ignore"):
    emit("kScalarGolden", x, grid_round(x, E4M3), x.astype(np.float16).astype(F), to_bf16(x))
for name, block, grid, rule in (
    ("kFakeFp8Golden", 32, E4M3, fake_fp8),
    ("kFakeFp4E8m0Golden", 32, E2M1, fake_fp4_e8m0),
    ("kFakeFp4E4m3Golden", 16, E2M1, fake_fp4_e4m3),
):
    groups = groups_for(block, grid)
    emit(name, groups, rule(groups))
