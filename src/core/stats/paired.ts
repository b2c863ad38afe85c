// The paired estimate: mean of one difference a block, its spread, p-value and interval. Knows numbers only.

import { sampleStandardDeviation } from 'simple-statistics';
import { tQuantile, tTwoSided } from './student.ts';

export interface Paired {
  readonly n: number;
  readonly mean: number;
  readonly sd: number;
  /** Two-sided p-value of "the mean is 0". */
  readonly p: number;
}

/**
 * One difference a block; a request is never a replicate. Null with fewer than two blocks: one difference has no spread.
 * When all differences are the same number, the spread is 0 and the mean is certain.
 */
export function pairedEstimate(differences: readonly number[]): Paired | null {
  const n = differences.length;
  if (n < 2) return null;
  const mean = differences.reduce((sum, value) => sum + value, 0) / n;
  const spread = sampleStandardDeviation([...differences]);
  // Sums in binary leave a spread of some 1e-17 between equal numbers; that is no information.
  const sd = spread <= 1e-12 * Math.max(1e-3, Math.abs(mean)) ? 0 : spread;
  if (sd === 0) return { n, mean, sd, p: Math.abs(mean) <= 1e-12 ? 1 : 0 };
  return { n, mean, sd, p: tTwoSided((mean * Math.sqrt(n)) / sd, n - 1) };
}

/** The t interval of the mean at error level alpha (0.05: 95 %); `df` where the spread was learned from more than these pairs. */
export function pairedInterval(
  estimate: Pick<Paired, 'n' | 'mean' | 'sd'> & { readonly df?: number },
  alpha: number,
): [number, number] {
  const half =
    (tQuantile(1 - alpha / 2, estimate.df ?? estimate.n - 1) * estimate.sd) / Math.sqrt(estimate.n);
  return [estimate.mean - half, estimate.mean + half];
}
