// What a number of blocks can see: power of the paired t test, smallest effect, blocks needed. Knows no arms.

import { noncentralTCdf, tQuantile } from './student.ts';

export interface TestLevel {
  /** Two-sided error of one test. For m comparisons under Holm the first is tested at 0.05 / m: plan with that. */
  readonly alpha: number;
  readonly power: number;
  /** Degrees of freedom that each block after the first adds: 1 for pairs, arms − 1 for a pooled error. Absent: pairs. */
  readonly dfPerBlock?: number;
}

/** Spread of paired log ratios on a quiet machine, used until one has been measured here. */
export const ASSUMED_SPREAD = {
  value: 0.017,
  source: 'assumed: a quiet machine; not measured here',
} as const;

/** Probability that n pairs whose log ratios have mean `effect` and standard deviation `spread` reject "no difference". */
export function pairedPower(
  effect: number,
  spread: number,
  n: number,
  alpha: number,
  dfPerBlock = 1,
): number {
  const df = (n - 1) * dfPerBlock;
  const critical = tQuantile(1 - alpha / 2, df);
  const ncp = (effect * Math.sqrt(n)) / spread;
  return 1 - noncentralTCdf(critical, df, ncp) + noncentralTCdf(-critical, df, ncp);
}

/** Smallest |mean log ratio| that is seen with the asked power; null with fewer than two blocks, which see nothing. */
export function smallestEffect(spread: number, n: number, level: TestLevel): number | null {
  if (n < 2) return null;
  const powerOf = (effect: number): number => pairedPower(effect, spread, n, level.alpha, level.dfPerBlock);
  let low = 0;
  let high = spread;
  while (powerOf(high) < level.power) high *= 2;
  // A millionth is far below what a spread is ever known to.
  while (high - low > 1e-6 * high) {
    const middle = (low + high) / 2;
    if (powerOf(middle) < level.power) low = middle;
    else high = middle;
  }
  return high;
}

/** The same as a share of the speed: 0.02 means that 2 % faster is seen. */
export function minDetectableEffect(spread: number, n: number, level: TestLevel): number | null {
  const effect = smallestEffect(spread, n, level);
  return effect === null ? null : Math.expm1(effect);
}

/** Fewest blocks that see a share of the speed; null when even `cap` do not. */
export function blocksNeeded(share: number, spread: number, level: TestLevel, cap = 600): number | null {
  const effect = Math.log1p(share);
  const powerOf = (n: number): number => pairedPower(effect, spread, n, level.alpha, level.dfPerBlock);
  let low = 2;
  let high = cap;
  if (powerOf(cap) < level.power) return null;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (powerOf(middle) >= level.power) high = middle;
    else low = middle + 1;
  }
  return low;
}
