// The Hodges–Lehmann estimate of a centre and its interval from Walsh averages. Knows numbers only.

import { medianSorted } from 'simple-statistics';

export interface HodgesLehmann {
  readonly estimate: number;
  /** Distribution-free at 95 % or more, for symmetric differences. */
  readonly interval: readonly [number, number];
}

/** Below six values no interval reaches 95 %: two of 2ⁿ sign patterns are more than 5 %. */
export const HODGES_LEHMANN_FLOOR = 6;

/**
 * The median of all n(n + 1) / 2 averages of pairs, each value also with itself (Hodges and Lehmann 1963); the interval's ends are the
 * averages that Wilcoxon's signed-rank test at 5 % would just not reject. Null below six values.
 */
export function hodgesLehmann(values: readonly number[]): HodgesLehmann | null {
  const n = values.length;
  if (n < HODGES_LEHMANN_FLOOR) return null;
  const walsh = values.flatMap((a, i) => values.slice(i).map((b) => (a + b) / 2)).sort((a, b) => a - b);
  const cut = signedRankCut(n, 0.025);
  return {
    estimate: medianSorted(walsh),
    interval: [walsh[cut - 1] ?? Number.NaN, walsh[walsh.length - cut] ?? Number.NaN],
  };
}

/** The largest c with P(signed-rank sum < c) ≤ tail under symmetry: by counting the subsets of 1…n with each sum. Sums below it reject. */
export function signedRankCut(n: number, tail: number): number {
  const largest = (n * (n + 1)) / 2;
  const ways = new Array<number>(largest + 1).fill(0);
  ways[0] = 1;
  for (let rank = 1; rank <= n; rank++) {
    for (let sum = largest; sum >= rank; sum--) ways[sum] = (ways[sum] ?? 0) + (ways[sum - rank] ?? 0);
  }
  let below = 0;
  let cut = 0;
  while ((below + (ways[cut] ?? 0)) / 2 ** n <= tail) below += ways[cut++] ?? 0;
  return cut;
}
