// The order of the arms in every block: ABBA for two, Williams squares for more. Knows names and a random source only.

import type { Rng } from '../rng.ts';

export type OrderKind = 'williams' | 'abba' | 'balanced' | 'random';

export interface Order {
  /** What the order really is; `balanced`: rows of Williams squares, but not whole squares. */
  readonly kind: OrderKind;
  /** One row a block: the arms in the order in which they run. */
  readonly rows: readonly (readonly string[])[];
}

/**
 * Fixed rotation errs 9 to 12 % of the time at a nominal 5 % under drift, so it cannot be asked for.
 * `balanced`: every arm stands in every position equally often, to within one; with whole squares it also follows every other
 * arm equally often (Williams 1949).
 */
export function planOrder(
  asked: 'balanced' | 'abba' | 'random',
  arms: readonly string[],
  blocks: number,
  rng: Rng,
): Order {
  if (asked === 'random') {
    return { kind: 'random', rows: Array.from({ length: blocks }, () => rng.shuffle(arms)) };
  }
  if (arms.length === 2) return { kind: 'abba', rows: williamsRows(arms, blocks, rng) };
  if (asked === 'abba') throw new RangeError(`abba is for 2 arms, got ${arms.length}`);
  const isWhole = blocks % squareSize(arms.length) === 0;
  return { kind: isWhole ? 'williams' : 'balanced', rows: williamsRows(arms, blocks, rng) };
}

/** Blocks after which every arm has followed every other equally often: k for even k, 2k for odd. */
export function squareSize(arms: number): number {
  return arms % 2 === 0 ? arms : 2 * arms;
}

/**
 * Squares with freshly drawn names and rows, one after the other. A last part of a square is made of rows of one Latin half
 * before the other is touched, which keeps every (arm, position) count within one of every other.
 */
function williamsRows(arms: readonly string[], blocks: number, rng: Rng): string[][] {
  const rows: string[][] = [];
  while (rows.length < blocks) {
    const missing = blocks - rows.length;
    const names = rng.shuffle(arms);
    const halves = rng.shuffle(latinHalves(arms.length));
    const drawn = halves.flatMap((half) => rng.shuffle(half)).slice(0, missing);
    rows.push(...rng.shuffle(drawn).map((row) => row.map((index) => names[index] as string)));
  }
  return rows;
}

/** Even k: one Latin square balanced for first-order carry-over. Odd k: two, the second the mirror of the first. */
function latinHalves(k: number): number[][][] {
  const first: number[] = [];
  for (let low = 0, high = k - 1; low <= high; ) {
    first.push(low++);
    if (low <= high) first.push(high--);
  }
  const square = Array.from({ length: k }, (_, shift) => first.map((index) => (index + shift) % k));
  return k % 2 === 0 ? [square] : [square, square.map((row) => [...row].reverse())];
}
