"""Reference values of the divergence of two distributions of logits, made with NumPy in extended precision: softmax first, then the
logarithm of the quotient, not by way of log-softmax as Rota does. SciPy's rel_entr, which knows doubles only, must agree. Run: python3 make_divergences.py > divergences.json

Logits are whole numbers over 1009, scaled and rounded to float32, so that both sides make the very same ones.
"""
import json

import numpy as np
import scipy
from scipy import special


def logits(size, seed, scale, offset):
    i = np.arange(size, dtype=np.int64)
    return (((i * 7919 * seed + i * i * 31) % 1009) / 1009 * scale + offset).astype(np.float32)


def divergence(p, q):
    p, q = p.astype(np.longdouble), q.astype(np.longdouble)
    p, q = np.exp(p - p.max()), np.exp(q - q.max())
    p, q = p / p.sum(), q / q.sum()
    value = float(np.sum(p * np.log(p / q)))
    in_double = np.sum(special.rel_entr(p.astype(np.float64), q.astype(np.float64)))
    assert abs(value - in_double) < 1e-12, (value, in_double)
    return value


CASES = [
    # size, (seed, scale, offset) of the reference, of the other
    (2, (1, 1, 0), (2, 1, 0)),
    (7, (1, 3, 0), (2, 3, 0)),
    (128, (3, 8, 0), (5, 8, 0)),
    (2048, (1, 12, 0), (1, 11, 0)),
    (2048, (1, 12, 0), (1, 12.0001, 0)),
    (2048, (7, 40, 0), (11, 40, 0)),
    (2048, (7, 1, 5000), (11, 1, -5000)),
    (129280, (13, 20, 3), (17, 20, -3)),
]
values = [
    {
        "size": size,
        "reference": reference,
        "other": other,
        "logSumExp": float(special.logsumexp(logits(size, *reference).astype(np.longdouble))),
        "divergence": divergence(logits(size, *reference), logits(size, *other)),
    }
    for size, reference, other in CASES
]
print(json.dumps({"numpy": np.__version__, "scipy": scipy.__version__, "values": values}, indent=1))
