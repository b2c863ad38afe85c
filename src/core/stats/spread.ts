// How far runs of one arm lie apart, and whether another arm's lie closer together. Knows numbers only.

import { sampleCorrelation, sampleStandardDeviation } from 'simple-statistics';
import { tQuantile, tTwoSided } from './student.ts';
import { chiSquaredQuantile } from './variance-tests.ts';

export interface Spread {
  readonly sd: number;
  /** At 95 %, by χ²: exact for normal values, too narrow for heavy tails. */
  readonly interval: readonly [number, number];
}

/** What a standard deviation of so many degrees of freedom may really be: above it with probability p, by χ². */
export function spreadBound(sd: number, df: number, p: number): number {
  return sd * Math.sqrt(df / chiSquaredQuantile(p, df));
}

/** Null with fewer than two values. */
export function spreadOf(values: readonly number[]): Spread | null {
  if (values.length < 2) return null;
  const df = values.length - 1;
  const sd = sampleStandardDeviation([...values]);
  return { sd, interval: [spreadBound(sd, df, 0.975), spreadBound(sd, df, 0.025)] };
}

export interface SpreadRatio {
  /** Spread of the first over that of the second, and its interval at 95 %. */
  readonly ratio: number;
  readonly interval: readonly [number, number];
  /** Two-sided p-value of "both spread alike". */
  readonly p: number;
}

/**
 * Two spreads of paired values, whatever the pairs have in common (a block's drift): their variances are equal exactly when sum
 * and difference are uncorrelated (Pitman 1939, Morgan 1939). Null below four pairs or when one of the two does not vary.
 */
export function spreadRatio(first: readonly number[], second: readonly number[]): SpreadRatio | null {
  const n = first.length;
  if (n < 4 || second.length !== n) return null;
  const sdFirst = sampleStandardDeviation([...first]);
  const sdSecond = sampleStandardDeviation([...second]);
  if (sdFirst === 0 || sdSecond === 0) return null;
  const sums = first.map((value, i) => value + (second[i] ?? 0));
  const differences = first.map((value, i) => value - (second[i] ?? 0));
  const r = sampleCorrelation(sums, differences);
  const t = (r * Math.sqrt(n - 2)) / Math.sqrt(Math.max(1e-300, 1 - r * r));
  const shared = sampleCorrelation([...first], [...second]);
  const critical = tQuantile(0.975, n - 2);
  const k = 1 + (2 * (1 - shared * shared) * critical ** 2) / (n - 2);
  const reach = k + Math.sqrt(k * k - 1);
  const ratio = sdFirst / sdSecond;
  return { ratio, interval: [ratio / Math.sqrt(reach), ratio * Math.sqrt(reach)], p: tTwoSided(t, n - 2) };
}
