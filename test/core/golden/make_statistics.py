"""Reference values of the statistics, made with SciPy and NumPy by other ways than Rota's. Run: python3 make_statistics.py > statistics.json

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

# Dunnett: the inner probability by adaptive quadrature over the normal and the outer over the chi law; every value is also held
# against SciPy's multivariate t (Genz), a different algorithm, within its own error.
def dunnett_cdf(d, m, df):
    def inner(s):
        def integrand(z):
            return stats.norm.pdf(z) * (stats.norm.cdf(z + math.sqrt(2) * d * s) - stats.norm.cdf(z - math.sqrt(2) * d * s)) ** m

        return integrate.quad(integrand, -9, 9, epsabs=1e-12, limit=200)[0]

    def outer(s):
        return inner(s) * stats.chi.pdf(s * math.sqrt(df), df) * math.sqrt(df)

    return integrate.quad(outer, 1e-9, 1 + 14 / math.sqrt(2 * df), epsabs=1e-10, limit=200, points=[min(1, 2 / d)])[0]


def genz(d, m, df):
    cov = np.full((m, m), 0.5) + 0.5 * np.eye(m)
    law = stats.multivariate_t(shape=cov, df=df, seed=3)
    return float(law.cdf(np.full(m, d), lower_limit=np.full(m, -d), maxpts=300_000))


out["dunnett"] = []
for d, m, df in ((2.5, 1, 7), (2.5, 2, 4), (2.0, 3, 9), (2.9, 5, 20), (3.0, 14, 28), (3.7, 9, 6), (5.4, 2, 2), (1.0, 4, 60)):
    value = dunnett_cdf(d, m, df)
    assert m == 1 or abs(value - genz(d, m, df)) < 5e-4, (d, m, df, value, genz(d, m, df))
    out["dunnett"].append([d, m, df, float(value)])
# Two-sided 5 % points of Dunnett's own table (Biometrics 20, 1964), to its two decimals.
out["dunnettTable"] = [[2, 5, 3.03], [3, 5, 3.29], [2, 10, 2.57], [3, 10, 2.76], [5, 10, 2.99], [3, 20, 2.54], [1, 20, 2.09]]
out["normalQuantileAbove"] = [[p, float(stats.norm.isf(p))] for p in (1e-12, 1e-6, 0.001, 0.0125, 0.025, 0.3, 0.5, 0.8, 0.999)]
out["chiSquaredQuantile"] = [
    [p, df, float(stats.chi2.ppf(p, df))] for df in (1, 2, 3, 7, 29, 200) for p in (0.001, 0.025, 0.5, 0.975, 0.999)
]
out["fTail"] = [[f, a, b, float(stats.f.sf(f, a, b))] for a, b in ((1, 4), (3, 9), (7, 42), (2.4, 11.6)) for f in (0.2, 1, 3.5, 20)]
out["blockModel"] = []
for n, k in ((2, 2), (4, 3), (8, 5)):
    y = rng.normal(size=(n, k)) + rng.normal(size=(n, 1)) * 3 + np.arange(k)
    design = np.column_stack([np.repeat(np.eye(n), k, axis=0), np.tile(np.eye(k), (n, 1))[:, 1:]])
    _, residual, _, _ = np.linalg.lstsq(design, y.ravel(), rcond=None)
    df = (n - 1) * (k - 1)
    loud = []
    for arm in range(k if k > 2 else 0):
        others = np.delete(y, arm, axis=1)
        design = np.column_stack([np.repeat(np.eye(n), k - 1, axis=0), np.tile(np.eye(k - 1), (n, 1))[:, 1:]])
        fit = np.linalg.lstsq(design, others.ravel(), rcond=None)[0]
        mse = float(((others.ravel() - design @ fit) ** 2).sum()) / ((n - 1) * (k - 2))
        own = float(np.var(y[:, arm] - others.mean(1), ddof=1)) * (k - 1) / k
        loud.append(float(stats.f.sf(own / mse, n - 1, (n - 1) * (k - 2))))
    out["blockModel"].append(
        {"y": y.tolist(), "error": float(residual[0]) / df, "df": df, "between": float(k * y.mean(1).var(ddof=1)), "loud": loud}
    )
out["interaction"] = []
for n, c in ((4, 3), (8, 4), (6, 2)):
    d = rng.normal(size=(n, c)) * np.arange(1, c + 1) + rng.normal(size=(n, 1)) + 0.7 * np.arange(c)
    cov = np.cov(d, rowvar=False)
    contrast = np.linalg.svd(np.ones((1, c)))[2][1:]
    roots = np.linalg.eigvalsh(contrast @ cov @ contrast.T)
    epsilon = float(roots.sum() ** 2 / ((c - 1) * (roots**2).sum()))
    centred = d - d.mean(1, keepdims=True)
    between = n * ((centred.mean(0)) ** 2).sum() / (c - 1)
    within = ((centred - centred.mean(0)) ** 2).sum() / ((n - 1) * (c - 1))
    f = float(between / within)
    p = float(stats.f.sf(f, (c - 1) * epsilon, (n - 1) * (c - 1) * epsilon))
    out["interaction"].append({"d": d.tolist(), "f": f, "epsilon": epsilon, "p": p})
out["spread"] = []
for n in (4, 8):
    a, b = rng.normal(size=n) * 0.2, rng.normal(size=n)
    a, b = a + b * 0.1, b
    df = n - 1
    sd = float(a.std(ddof=1))

    def pitman(scale, a=a, b=b):
        return float(stats.pearsonr(a + scale * b, a - scale * b).pvalue)

    # The interval by inversion: the ratios that Pitman and Morgan's test would just not reject.
    ratio = sd / float(b.std(ddof=1))
    ends = []
    for far in (1e-4, 1e4):
        low, high = math.log(ratio), math.log(ratio * far)
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if pitman(math.exp(middle)) > 0.05 else (low, middle)
        ends.append(math.exp(low))
    out["spread"].append(
        {
            "a": a.tolist(),
            "b": b.tolist(),
            "sd": sd,
            "interval": [sd * math.sqrt(df / stats.chi2.ppf(q, df)) for q in (0.975, 0.025)],
            "ratio": ratio,
            "ratioInterval": ends,
            "p": pitman(1),
        }
    )
out["hodgesLehmann"] = []
for n in (6, 9, 15):
    x = rng.standard_t(3, n) + 0.5
    walsh = sorted((x[i] + x[j]) / 2 for i in range(n) for j in range(i, n))
    # The ends by trial: the shifts that SciPy's exact signed-rank test at 5 % just does not reject.
    kept = [w for w in walsh if stats.wilcoxon(x - w - 1e-9, mode="exact").pvalue > 0.05 or stats.wilcoxon(x - w + 1e-9, mode="exact").pvalue > 0.05]
    out["hodgesLehmann"].append({"x": x.tolist(), "estimate": float(np.median(walsh)), "interval": [float(kept[0]), float(kept[-1])]})


# Looks: the probability never to have crossed, by SciPy's multivariate normal; boundaries by bisection, one look after the other.
def look_levels(shares, alpha):
    spend = [alpha if t >= 1 else 4 * stats.norm.sf(stats.norm.isf(alpha / 4) / math.sqrt(t)) for t in shares]
    bounds = []
    for k in range(1, len(shares) + 1):
        t = np.array(shares[:k])
        cov = np.sqrt(np.minimum.outer(t, t) / np.maximum.outer(t, t))
        low, high = 0.5, 9.0
        for _ in range(22):
            z = (low + high) / 2
            box = np.array(bounds + [z])
            law = stats.multivariate_normal(mean=np.zeros(k), cov=cov, seed=1, maxpts=200_000, abseps=1e-7, releps=1e-7)
            inside = float(np.squeeze(law.cdf(box, lower_limit=-box)))
            low, high = (z, high) if 1 - inside > spend[k - 1] else (low, z)
        bounds.append((low + high) / 2)
    return bounds


out["lookBounds"] = [
    {"shares": shares, "alpha": alpha, "z": look_levels(shares, alpha)}
    for shares, alpha in (([0.5, 1], 0.05), ([0.5, 0.75, 1], 0.0125), ([0.4, 0.6, 1], 0.05))
]
# Five equal looks, as Lan and DeMets (1983) and Jennison and Turnbull (2000) print them.
out["lookBounds"].append({"shares": [0.2, 0.4, 0.6, 0.8, 1], "alpha": 0.05, "z": [4.8769, 3.3569, 2.6803, 2.2898, 2.0310]})
print(json.dumps(out, indent=1))
