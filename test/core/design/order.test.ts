// Orders: complete blocks, balanced positions, balanced predecessors.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planOrder, squareSize } from '../../../src/core/design/order.ts';
import { createRng } from '../../../src/core/rng.ts';

const names = (k: number): string[] => Array.from({ length: k }, (_, i) => `arm${i}`);
const anyOrder = fc.record({
  seed: fc.integer(),
  k: fc.integer({ min: 2, max: 9 }),
  blocks: fc.integer({ min: 1, max: 40 }),
});

function counts(keys: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const key of keys) found.set(key, (found.get(key) ?? 0) + 1);
  return found;
}

test('every block runs every arm once, in every kind of order', () => {
  fc.assert(
    fc.property(anyOrder, fc.constantFrom('balanced', 'random'), ({ seed, k, blocks }, kind) => {
      const { rows } = planOrder(kind, names(k), blocks, createRng(seed));
      expect(rows).toHaveLength(blocks);
      for (const row of rows) expect([...row].sort()).toEqual(names(k));
    }),
  );
});

test('balanced: every arm stands in every position equally often, to within one', () => {
  fc.assert(
    fc.property(anyOrder, ({ seed, k, blocks }) => {
      const { rows } = planOrder('balanced', names(k), blocks, createRng(seed));
      const places = counts(rows.flatMap((row) => row.map((arm, position) => `${arm}@${position}`)));
      for (const arm of names(k)) {
        for (let position = 0; position < k; position++) {
          const times = places.get(`${arm}@${position}`) ?? 0;
          expect(Math.abs(times - blocks / k)).toBeLessThan(2);
          if (blocks % k === 0) expect(times).toBe(blocks / k);
        }
      }
    }),
  );
});

test('whole squares: every arm follows every other equally often', () => {
  fc.assert(
    fc.property(
      fc.integer(),
      fc.integer({ min: 3, max: 8 }),
      fc.integer({ min: 1, max: 3 }),
      (seed, k, squares) => {
        const blocks = squares * squareSize(k);
        const order = planOrder('balanced', names(k), blocks, createRng(seed));
        expect(order.kind).toBe('williams');
        const follows = counts(order.rows.flatMap((row) => row.slice(1).map((arm, i) => `${row[i]}>${arm}`)));
        expect(follows.size).toBe(k * (k - 1));
        expect(new Set(follows.values())).toEqual(new Set([(squares * squareSize(k)) / k]));
      },
    ),
  );
});

test('a part of a square is called balanced, not Williams', () => {
  expect(planOrder('balanced', names(4), 3, createRng(1)).kind).toBe('balanced');
  expect(planOrder('balanced', names(3), 3, createRng(1)).kind).toBe('balanced');
});

test('two arms: each pair of blocks is AB then BA or BA then AB, by coin', () => {
  const starts = new Set<string>();
  for (let seed = 0; seed < 40; seed++) {
    const { kind, rows } = planOrder('balanced', ['A', 'B'], 6, createRng(seed));
    expect(kind).toBe('abba');
    for (let pair = 0; pair < 6; pair += 2) expect([...(rows[pair] ?? [])].reverse()).toEqual(rows[pair + 1]);
    starts.add(rows.map((row) => row[0]).join(''));
  }
  expect(starts.size).toBe(8);
  expect(planOrder('abba', ['A', 'B'], 2, createRng(1))).toEqual(
    planOrder('balanced', ['A', 'B'], 2, createRng(1)),
  );
  expect(() => planOrder('abba', names(3), 2, createRng(1))).toThrow(RangeError);
});

test('random: blocks do not depend on each other', () => {
  const seen = counts(planOrder('random', names(3), 600, createRng(3)).rows.map((row) => row.join()));
  expect(seen.size).toBe(6);
});

test('the same seed plans the same order, another seed another', () => {
  const plan = (seed: number): unknown => planOrder('balanced', names(4), 8, createRng(seed));
  expect(plan(1)).toEqual(plan(1));
  expect(plan(1)).not.toEqual(plan(2));
});
