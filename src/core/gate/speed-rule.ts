// The one rule of a gate that has noise: tok/s not slower than a margin, one-sided, paired by block. Knows rates, no engine.

import type { Known } from '../known.ts';
import type { Interval } from '../records/verdict.ts';
import { pairedEstimate, pairedInterval } from '../stats/paired.ts';

/** One-sided error of a pass, and of a failure. */
export const GATE_ALPHA = 0.05;
/** With fewer blocks the spread itself is hardly known. */
export const GATE_BLOCKS = 4;

export interface SpeedRule {
  readonly outcome: 'pass' | 'fail' | 'inconclusive';
  readonly blocks: number;
  /** run / baseline: the two one-sided 95 % bounds around the estimate. Null with fewer than two blocks. */
  readonly ratio: Interval | null;
}

/**
 * Block by block, with the same prompts on both sides, so that what a prompt does to a rate cancels. Passes when the lower bound is
 * above 1 − margin, fails when the upper is below it (non-inferiority; Schuirmann 1987); between the two it is inconclusive.
 */
export function speedRule(
  pairs: readonly { readonly run: Known; readonly baseline: Known }[],
  margin: number,
): SpeedRule {
  const differences = pairs.flatMap(({ run, baseline }) =>
    run === null || baseline === null || run <= 0 || baseline <= 0 ? [] : [Math.log(run / baseline)],
  );
  const blocks = differences.length;
  const estimate = pairedEstimate(differences);
  if (estimate === null) return { outcome: 'inconclusive', blocks, ratio: null };
  const [low, high] = pairedInterval(estimate, 2 * GATE_ALPHA);
  const ratio: Interval = [Math.exp(low), Math.exp(estimate.mean), Math.exp(high)];
  const limit = 1 - margin;
  const word = ratio[0] > limit ? 'pass' : ratio[2] < limit ? 'fail' : 'inconclusive';
  return { outcome: blocks < GATE_BLOCKS ? 'inconclusive' : word, blocks, ratio };
}
