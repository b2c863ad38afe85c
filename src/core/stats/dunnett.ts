// Dunnett's comparison of several arms with one baseline: probabilities and critical values of the largest |t|. Knows no arms.

import { integrate, nodesOf } from './quadrature.ts';
import { rootBetween } from './root.ts';
import { lnGamma, normalCdf, normalDensity } from './special.ts';
import { tQuantile } from './student.ts';

/** Beyond 8.5 standard deviations a normal density adds less than 1e-16. */
const Z_NODES = nodesOf(0, 8.5, 14).map(([z, weight]): [number, number] => [
  z,
  2 * weight * normalDensity(z),
]);

/** P(max |Z_i − Z_0| / √2 ≤ c) of m arms and one baseline with equal n, whose contrasts have correlation 1/2. */
function rangeOfNormals(c: number, m: number): number {
  const width = Math.SQRT2 * c;
  return Z_NODES.reduce(
    (sum, [z, weight]) => sum + weight * (normalCdf(z + width) - normalCdf(z - width)) ** m,
    0,
  );
}

/**
 * P(max |T_i| ≤ d) for m arms against one baseline, equal numbers of blocks, one pooled error with df degrees of freedom:
 * ∫ f(s) ∫ φ(z) [Φ(z + √2·d·s) − Φ(z − √2·d·s)]^m dz ds with s² = χ²(df) / df (Dunnett 1955; the one-factor form of Genz and
 * Bretz 2009, section 2.1, at correlation 1/2).
 */
export function dunnettCdf(d: number, m: number, df: number): number {
  if (d <= 0) return 0;
  const logNorm = Math.LN2 + (df / 2) * Math.log(df / 2) - lnGamma(df / 2);
  const spread = 1 / Math.sqrt(2 * df);
  const to = 1 + 14 * spread;
  const from = Math.max(0, 1 - 12 * spread);
  // With few degrees of freedom the inner probability climbs from 0 to 1 near s = 0: that stretch has panels of its own.
  const climb = Math.min(Math.max(from, 4 / d), to);
  const integrand = (s: number): number =>
    rangeOfNormals(d * s, m) * Math.exp(logNorm + (df - 1) * Math.log(s) - (df * s * s) / 2);
  const value =
    integrate(integrand, from, climb, 12) + (climb < to ? integrate(integrand, climb, to, 12) : 0);
  return Math.min(1, value);
}

/** Adjusted two-sided p-value of one comparison of the family: P(max |T_i| ≥ |t|). */
export function dunnettP(t: number, m: number, df: number): number {
  return Math.max(0, 1 - dunnettCdf(Math.abs(t), m, df));
}

const known = new Map<string, number>();

/** The two-sided critical value: P(max |T_i| ≥ value) = alpha. For one arm it is Student's. */
export function dunnettCritical(alpha: number, m: number, df: number): number {
  if (m === 1) return tQuantile(1 - alpha / 2, df);
  const key = `${alpha} ${m} ${df}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  // Between one comparison and Bonferroni's bound for m of them.
  const low = tQuantile(1 - alpha / 2, df);
  const high = tQuantile(1 - alpha / (2 * m), df);
  const value = rootBetween((d) => dunnettCdf(d, m, df) - (1 - alpha), low, high, 1e-9);
  known.set(key, value);
  return value;
}
