// Distributions of variances: χ² and F. Pure mathematics; knows nothing of benchmarks.

import { rootBetween } from './root.ts';
import { incompleteBeta, incompleteGamma } from './special.ts';

/** The x with P(χ² ≤ x) = p. */
export function chiSquaredQuantile(p: number, df: number): number {
  if (!(p > 0 && p < 1)) throw new RangeError(`p must be inside 0 and 1, got ${p}`);
  let high = df + 1;
  while (incompleteGamma(df / 2, high / 2) < p) high *= 2;
  return rootBetween((x) => incompleteGamma(df / 2, x / 2) - p, 0, high);
}

/** P(F > f): the p-value of a ratio of mean squares. */
export function fTail(f: number, df1: number, df2: number): number {
  if (f <= 0) return 1;
  return incompleteBeta(df2 / (df2 + df1 * f), df2 / 2, df1 / 2);
}
