// Where two answers part. Knows ids, and what the baseline thought of the two tokens where they part; decides no level.

import type { GapEvent } from '../records/journal.ts';

/** Index of the first id that differs; null when one of them is not known or one only goes on where the other ends. */
export function firstDifference(a: readonly number[] | null, b: readonly number[] | null): number | null {
  if (a === null || b === null) return null;
  const limit = Math.min(a.length, b.length);
  for (let index = 0; index < limit; index++) if (a[index] !== b[index]) return index;
  return null;
}

/** Log-probability of the baseline's token less that of the other's, both by the baseline: 0 is a tie, in nats. */
export function gapNats(gap: Pick<GapEvent, 'baseLogprob' | 'armLogprob'>): number {
  return gap.baseLogprob - gap.armLogprob;
}

/** A gap below this is a near-tie where the baseline itself never parts from itself. */
export const NEAR_TIE_NATS = 0.05;

/** 99th percentile of the gaps where starts of the baseline parted, and at least the near-tie. */
export function nearTieNats(baselineGaps: readonly number[]): number {
  const sorted = [...baselineGaps].sort((a, b) => a - b);
  const at = Math.max(0, Math.ceil(0.99 * sorted.length) - 1);
  return Math.max(NEAR_TIE_NATS, sorted[at] ?? 0);
}
