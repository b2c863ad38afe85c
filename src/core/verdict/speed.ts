// The speed verdict: paired log ratios, one family of comparisons, one word each. Knows rates by block, no engine.

import type { Known } from '../known.ts';
import type { Interval, SpeedVerdict } from '../records/verdict.ts';
import { isEquivalent, isNonInferior } from '../stats/equivalence.ts';
import { holm } from '../stats/holm.ts';
import { pairedEstimate, pairedInterval } from '../stats/paired.ts';
import { blocksNeeded, minDetectableEffect } from '../stats/power.ts';

/** Rates of one arm and the baseline in one class, block by block. */
export interface Comparison {
  readonly arm: string;
  readonly class: string;
  readonly rates: readonly { readonly arm: Known; readonly base: Known }[];
}

export interface SpeedFinding {
  readonly speed: SpeedVerdict;
  readonly ratio: Interval | null;
  /** Blocks with both rates. */
  readonly blocks: number;
  /** When inconclusive: the smallest share that these blocks could have seen with 80 % power, from the spread they showed. */
  readonly detectable: number | null;
  /** When inconclusive: blocks that would see the margin; null when too many. */
  readonly needed: number | null;
}

/** Chance that any comparison of the family is called different when none is. */
export const FAMILY_ALPHA = 0.05;
const POWER = 0.8;

/** The family is every arm against the baseline in every class, of tok/s: one Holm procedure over all of them. */
export function judgeSpeed(comparisons: readonly Comparison[], margin: number): SpeedFinding[] {
  const estimates = comparisons.map(({ rates }) => pairedEstimate(logRatios(rates)));
  const steps = holm(
    // What could not be measured is not rejected and keeps its place in the family.
    estimates.map((estimate) => estimate?.p ?? 1),
    FAMILY_ALPHA,
  );
  return comparisons.map(({ rates }, index) => {
    const estimate = estimates[index] ?? null;
    const level = steps[index]?.level ?? FAMILY_ALPHA;
    const blocks = logRatios(rates).length;
    if (estimate === null)
      return { speed: 'inconclusive', ratio: null, blocks, detectable: null, needed: null };
    const [low, high] = pairedInterval(estimate, level).map(Math.exp) as [number, number];
    const test = { alpha: level, power: POWER };
    const speed = speedWord([low, high], margin);
    const isOpen = speed === 'inconclusive';
    return {
      speed,
      ratio: [low, Math.exp(estimate.mean), high],
      blocks,
      detectable: isOpen ? minDetectableEffect(estimate.sd, estimate.n, test) : null,
      needed: isOpen ? blocksNeeded(margin, estimate.sd, test) : null,
    };
  });
}

function logRatios(rates: Comparison['rates']): number[] {
  return rates.flatMap(({ arm, base }) =>
    arm === null || base === null || arm <= 0 || base <= 0 ? [] : [Math.log(arm / base)],
  );
}

/** From an interval of the ratio: a difference that is certain comes before one that is certainly small. */
export function speedWord(interval: readonly [number, number], margin: number): SpeedVerdict {
  if (interval[0] > 1) return 'faster';
  if (interval[1] < 1) return 'slower';
  if (isEquivalent(interval, margin)) return 'equivalent';
  return isNonInferior(interval, margin) ? 'non-inferior' : 'inconclusive';
}
