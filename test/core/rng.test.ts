// The random source: reproducible, even, and split by name.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRng } from '../../src/core/rng.ts';

test('the same seed gives the same stream on every machine', () => {
  const rng = createRng(1);
  expect([rng.int(1000), rng.int(1000), rng.int(1000), rng.float()]).toMatchInlineSnapshot(`
    [
      434,
      240,
      355,
      0.23758027888834476,
    ]
  `);
});

test('a named stream does not depend on what was drawn before', () => {
  const fresh = createRng(5);
  const used = createRng(5);
  for (let i = 0; i < 10; i++) used.float();
  expect(used.split('order').int(1e9)).toBe(fresh.split('order').int(1e9));
  expect(fresh.split('order').int(1e9)).not.toBe(fresh.split('prompts').int(1e9));
  expect(fresh.split('a').split('b').int(1e9)).not.toBe(fresh.split('a/1:b').int(1e9));
});

test('whole numbers are even and in range', () => {
  const rng = createRng('even');
  const counts = new Array<number>(7).fill(0);
  for (let i = 0; i < 70_000; i++) {
    const drawn = rng.int(7);
    counts[drawn] = (counts[drawn] ?? 0) + 1;
  }
  // chi square with 6 degrees of freedom: 22.5 is the 99.9 % point.
  const chi2 = counts.reduce((sum, count) => sum + (count - 10_000) ** 2 / 10_000, 0);
  expect(chi2).toBeLessThan(22.5);
  expect(chi2).toBeGreaterThan(0.1);
  for (const bad of [0, -1, 1.5, Number.NaN]) expect(() => rng.int(bad)).toThrow(RangeError);
});

test('a shuffle keeps the items, leaves the list alone, and reaches every order evenly', () => {
  fc.assert(
    fc.property(fc.integer(), fc.array(fc.integer()), (seed, items) => {
      const before = [...items];
      const shuffled = createRng(seed).shuffle(items);
      expect(items).toEqual(before);
      expect([...shuffled].sort()).toEqual([...items].sort());
    }),
  );
  const rng = createRng('orders');
  const counts = new Map<string, number>();
  for (let i = 0; i < 6000; i++) {
    const order = rng.shuffle(['a', 'b', 'c']).join('');
    counts.set(order, (counts.get(order) ?? 0) + 1);
  }
  expect(counts.size).toBe(6);
  for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(120);
});
