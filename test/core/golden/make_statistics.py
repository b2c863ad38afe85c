"""Reference values of the statistics, made with SciPy. Run: python3 make_statistics.py > statistics.json

The noncentral t is integrated here with mpmath-free scipy.integrate, because nct.cdf returns NaN in the lower tail at a
large noncentrality.
"""
import json
import math

import numpy as np
import scipy
from scipy import integrate, special, stats


def noncentral_t_cdf(t, df, ncp):
    log_norm = math.log(2) + df / 2 * math.log(df / 2) - special.gammaln(df / 2)

    def integrand(s):
        return stats.norm.cdf(t * s - ncp) * math.exp(log_norm + (df - 1) * math.log(s) - df * s * s / 2)

    spread = 1 / math.sqrt(2 * df)
    value, _ = integrate.quad(integrand, max(1e-12, 1 - 14 * spread), 1 + 16 * spread, epsabs=1e-13, epsrel=1e-12, limit=400)
    return value


def power(effect, sd, n, alpha):
    critical = stats.t.ppf(1 - alpha / 2, n - 1)
    ncp = effect * math.sqrt(n) / sd
    return 1 - noncentral_t_cdf(critical, n - 1, ncp) + noncentral_t_cdf(-critical, n - 1, ncp)


def mde(n, alpha, wanted):
    low, high = 0.0, 1.0
    while power(high, 1.0, n, alpha) < wanted:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if power(middle, 1.0, n, alpha) < wanted else (low, middle)
    return high


def holm(p):
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    running = 0.0
    for rank, index in enumerate(order):
        running = min(1.0, max(running, (len(p) - rank) * p[index]))
        adjusted[index] = running
    return [float(x) for x in adjusted]


rng = np.random.default_rng(20)
out = {
    "scipy": scipy.__version__,
    "lnGamma": [[x, float(special.gammaln(x))] for x in (0.1, 0.5, 1, 1.5, 2, 3.7, 10, 55.5, 400)],
    "incompleteBeta": [
        [x, a, b, float(special.betainc(a, b, x))]
        for a, b in ((0.5, 0.5), (1.5, 0.5), (4, 0.5), (30, 0.5), (2, 3), (150, 0.5))
        for x in (1e-6, 0.1, 0.5, 0.9, 0.999)
    ],
    "normalCdf": [[z, float(stats.norm.cdf(z))] for z in (-8, -5, -2.5, -1.96, -0.3, 0, 0.7, 1.5, 2.83, 4)],
    "tCdf": [
        [t, df, float(stats.t.cdf(t, df))]
        for df in (1, 2, 3, 4.5, 7, 30, 300)
        for t in (-40, -6, -2.3, -0.4, 0, 0.1, 1.7, 5)
    ],
    "tTwoSided": [[t, df, float(2 * stats.t.sf(t, df))] for df in (1, 3, 11, 60) for t in (0.5, 3, 20, 200)],
    "tQuantile": [
        [p, df, float(stats.t.ppf(p, df))]
        for df in (1, 2, 3, 7, 29, 500)
        for p in (0.001, 0.025, 0.3, 0.5, 0.9, 0.975, 0.99722, 0.9999)
    ],
    "noncentralT": [
        [t, df, ncp, noncentral_t_cdf(t, df, ncp)]
        for df in (1, 3, 7, 30, 200)
        for t, ncp in ((0.5, 0), (3.18, 1), (3.18, 4), (-2, 1), (2.1, 2.8), (2, 20), (12, 10))
    ],
    "power": [
        [e, sd, n, alpha, power(e, sd, n, alpha)]
        for e, sd in ((0.03, 0.017), (0.05, 0.05), (0.01, 0.005))
        for n in (2, 3, 5, 8, 20)
        for alpha in (0.05, 0.05 / 9)
    ],
    "smallestEffect": [[n, alpha, mde(n, alpha, 0.8)] for n in (2, 3, 4, 5, 6, 8, 10, 12, 20) for alpha in (0.05, 0.0125)],
    "paired": [],
    "holm": [],
    "tost": [],
}
for n in (2, 3, 4, 8, 20):
    values = rng.normal(0.02, 0.015, n)
    test = stats.ttest_1samp(values, 0)
    low, high = test.confidence_interval(0.95)
    out["paired"].append(
        {
            "values": [float(v) for v in values],
            "mean": float(values.mean()),
            "sd": float(values.std(ddof=1)),
            "p": float(test.pvalue),
            "interval95": [float(low), float(high)],
        }
    )
for m in (1, 3, 9, 15):
    p = [float(x) for x in rng.beta(0.4, 3, m)]
    out["holm"].append({"p": p, "adjusted": holm(p)})
for n, mean in ((4, 0.0), (6, 0.01), (8, -0.012), (12, 0.02)):
    values = rng.normal(mean, 0.012, n)
    margin = 0.03
    lower = stats.ttest_1samp(values, math.log(1 - margin), alternative="greater").pvalue
    upper = stats.ttest_1samp(values, math.log(1 + margin), alternative="less").pvalue
    out["tost"].append({"values": [float(v) for v in values], "margin": margin, "p": float(max(lower, upper))})
print(json.dumps(out, indent=1))
