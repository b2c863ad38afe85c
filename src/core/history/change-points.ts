// Where a history of rates changed its level. Knows numbers in the order of time, and a seeded source of chance.

import type { Rng } from '../rng.ts';
import { mean, squaresAroundMean } from '../stats/sums.ts';

export interface ChangePoint {
  /** The first value of the new level. */
  readonly index: number;
  /** New level over the old one, of the means of logarithms on both sides up to the next change. */
  readonly ratio: number;
}

/** Fewer on a side have no level of their own, and fewer in all no history. */
const LEAST_SIDE = 3;
const LEAST_ALL = 8;
const PERMUTATIONS = 499;
const ALPHA = 0.01;

/**
 * Binary segmentation: the split with the largest |t| of the logarithms is believed when at most 1 % of random orders of the same
 * values have one as large (permutation test, as in Matteson & James 2014 and Hunter 2023), then each side is searched again.
 */
export function changePoints(rates: readonly number[], rng: Rng): ChangePoint[] {
  const logs = rates.map(Math.log);
  const at = search(logs, 0, rng).sort((a, b) => a - b);
  const edges = [0, ...at, logs.length];
  return at.map((index, i) => {
    const before = mean(logs.slice(edges[i] ?? 0, index));
    const after = mean(logs.slice(index, edges[i + 2] ?? logs.length));
    return { index, ratio: Math.exp(after - before) };
  });
}

function search(values: readonly number[], offset: number, rng: Rng): number[] {
  if (values.length < LEAST_ALL) return [];
  const best = bestSplit(values);
  if (best.size === 0) return [];
  let asLarge = 0;
  for (let i = 0; i < PERMUTATIONS; i++) if (bestSplit(rng.shuffle(values)).size >= best.size) asLarge++;
  if ((asLarge + 1) / (PERMUTATIONS + 1) > ALPHA) return [];
  return [
    ...search(values.slice(0, best.index), offset, rng),
    offset + best.index,
    ...search(values.slice(best.index), offset + best.index, rng),
  ];
}

/** Running sums: every split in one pass. */
function bestSplit(values: readonly number[]): { readonly index: number; readonly size: number } {
  const n = values.length;
  const centre = mean(values);
  const total = squaresAroundMean(values);
  let left = 0;
  let best = { index: 0, size: 0 };
  if (total <= 1e-18 * n) return best;
  for (let i = 1; i < n; i++) {
    left += (values[i - 1] ?? 0) - centre;
    if (i < LEAST_SIDE || n - i < LEAST_SIDE) continue;
    // Between the two sides; the rest is within them. With mean 0 the right sum is minus the left one.
    const between = (left * left * n) / (i * (n - i));
    const size = between / Math.max(1e-18, total - between);
    if (size > best.size) best = { index: i, size };
  }
  return best;
}
