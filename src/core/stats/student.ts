// Student's t, central and noncentral: distribution functions and quantiles. Pure mathematics; knows nothing of benchmarks.

import { integrate } from './quadrature.ts';
import { incompleteBeta, lnGamma, normalCdf } from './special.ts';

/** P(T ≤ t) with df degrees of freedom. */
export function tCdf(t: number, df: number): number {
  if (Math.abs(t) < 1) return 0.5 + 0.5 * Math.sign(t) * centralShare(t, df);
  const tail = 0.5 * incompleteBeta(df / (df + t * t), df / 2, 0.5);
  return t > 0 ? 1 - tail : tail;
}

/** P(|T| ≤ |t|). For |t| < 1: there df / (df + t²) is so near to 1 that its digits, and with them the tail's, are lost. */
function centralShare(t: number, df: number): number {
  return incompleteBeta((t * t) / (df + t * t), 0.5, df / 2);
}

/** P(|T| ≥ |t|): the p-value of a two-sided test, exact far into the tail where 1 − cdf would be 0. */
export function tTwoSided(t: number, df: number): number {
  if (Math.abs(t) < 1) return 1 - centralShare(t, df);
  return incompleteBeta(df / (df + t * t), df / 2, 0.5);
}

/** A verdict asks for the same few quantiles again and again. */
const known = new Map<string, number>();

/** The t with P(T ≤ t) = p. */
export function tQuantile(p: number, df: number): number {
  if (!(p > 0 && p < 1)) throw new RangeError(`p must be inside 0 and 1, got ${p}`);
  const key = `${p} ${df}`;
  const found = known.get(key) ?? quantileByBisection(p, df);
  known.set(key, found);
  return found;
}

/** By bisection on the tail probability. */
function quantileByBisection(p: number, df: number): number {
  if (p === 0.5) return 0;
  const tail = 2 * Math.min(p, 1 - p);
  let low = 0;
  let high = 1;
  while (tTwoSided(high, df) > tail) high *= 2;
  for (let i = 0; i < 200 && high - low > 1e-15 * high; i++) {
    const middle = (low + high) / 2;
    if (tTwoSided(middle, df) > tail) low = middle;
    else high = middle;
  }
  const t = (low + high) / 2;
  return p < 0.5 ? -t : t;
}

/**
 * P(T' ≤ t) of the noncentral t: T' = (Z + ncp) / S with S² = χ²(df) / df, so P = ∫ Φ(t·s − ncp) f(s) ds.
 * Integrated, not summed: the usual series fails in the lower tail at a large noncentrality.
 */
export function noncentralTCdf(t: number, df: number, ncp: number): number {
  const logNorm = Math.LN2 + (df / 2) * Math.log(df / 2) - lnGamma(df / 2);
  const density = (s: number): number => Math.exp(logNorm + (df - 1) * Math.log(s) - (df * s * s) / 2);
  const spread = 1 / Math.sqrt(2 * df);
  const from = Math.max(0, 1 - 12 * spread);
  const to = 1 + 14 * spread;
  // Φ climbs from 0 to 1 within 8 / |t| of s = ncp / t: for a large t much faster than the density, so it gets panels of its own.
  const climb = t === 0 ? [] : [-8, 0, 8].map((z) => (ncp + z) / t);
  const edges = [from, ...climb.filter((s) => s > from && s < to).sort((a, b) => a - b), to];
  const integrand = (s: number): number => normalCdf(t * s - ncp) * density(s);
  let sum = 0;
  for (const [index, edge] of edges.slice(1).entries())
    sum += integrate(integrand, edges[index] ?? from, edge, 60);
  return Math.min(1, sum);
}
