// A background as a factor: the effect of each arm beside it and without it, whether the two differ, and its dose.

import { expect, test } from 'vitest';
import { makeRecord, type RecordOptions, row, verdictOf } from './record.ts';

const background = { name: 'neighbour', argv: ['burn'], env: {}, blocks: [2, 3, 6, 8], settleMs: 0 };

/** `fast` is 1.4 times the baseline alone and `beside` times it beside the neighbour; half a percent of noise. */
const options = (beside: number, more: Partial<RecordOptions['plan']> = {}): RecordOptions => ({
  blocks: 8,
  plan: { background, ...more },
  answer: ({ arm, block }) => {
    const isBeside = background.blocks.includes(block);
    const noise = 1 + 0.005 * Math.sin(5 * block + (arm === 'fast' ? 1 : 0));
    const rate = (isBeside ? 60 : 100) * (arm === 'fast' ? (isBeside ? beside : 1.4) : 1);
    return {
      rate: rate * noise,
      wallMs: 500,
      load: isBeside
        ? {
            cores: 4,
            backgroundCpuShare: arm === 'fast' ? 0.2 : 0.3,
            backgroundReadBytes: 1e6,
            foreignCpuShare: 0,
          }
        : { cores: 4 },
    };
  },
});

test('an effect that depends on the background: both, and the test of their difference', () => {
  const verdict = verdictOf(makeRecord(options(1.1)));
  const found = verdict.background;
  expect(found).toMatchObject({ name: 'neighbour', blocks: [2, 3, 6, 8], cores: 1, readBytesPerSec: 2e6 });
  expect(found?.coresByArm).toEqual([
    { arm: 'base', cores: 1.2 },
    { arm: 'fast', cores: 0.8 },
  ]);
  const [beside, without] = found?.effects ?? [];
  expect(beside).toMatchObject({ arm: 'fast', class: 'prose', beside: true, blocks: 4 });
  expect(beside?.ratio?.[1]).toBeCloseTo(1.1, 2);
  expect(without).toMatchObject({ beside: false, blocks: 4 });
  expect(without?.ratio?.[1]).toBeCloseTo(1.4, 2);
  expect(found?.interactions).toHaveLength(1);
  expect(found?.interactions[0]?.ratio?.[1]).toBeCloseTo(1.1 / 1.4, 2);
  expect(found?.interactions[0]?.p).toBeLessThan(1e-6);
  expect(found?.lines).toMatchInlineSnapshot(`
    [
      {
        "arm": "fast",
        "class": "prose",
        "line": "1.098× (1.091–1.104) beside neighbour (1.0 cores) in 4 blocks, 1.402× (1.394–1.409) without it in 4 blocks: the effect depends on it, by 0.783× (0.778–0.788, p < 0.001)",
      },
    ]
  `);
  // Wanted load is no fault: nothing is said of others, and every block counts.
  expect(verdict).not.toHaveProperty('foreignLoad');
  expect(row(verdict, 'fast').blocks).toBe(8);
});

test('an effect that is the same beside it: the difference is open, never "none"', () => {
  const found = verdictOf(makeRecord(options(1.4))).background;
  const [low, , high] = found?.interactions[0]?.ratio ?? [0, 0, 0];
  expect(low).toBeLessThan(1);
  expect(high).toBeGreaterThan(1);
  expect(found?.lines[0]?.line).toMatch(/: whether the effect depends on it is open: 0\.99\d× \(/);
});

test('the interaction is the t test of two groups of blocks, by SciPy', () => {
  // scipy.stats.ttest_ind([0.10, 0.13, 0.08], [0.30, 0.28, 0.35, 0.31]): its p-value
  const ratios = [0.1, 0.3, 0.13, 0.28, 0.08, 0.35, 0.31];
  const verdict = verdictOf(
    makeRecord({
      blocks: 7,
      plan: { background: { ...background, blocks: [1, 3, 5] } },
      answer: ({ arm, block }) => ({ rate: 100 * (arm === 'fast' ? Math.exp(ratios[block - 1] ?? 0) : 1) }),
    }),
  );
  expect(verdict.background?.interactions[0]?.p).toBeCloseTo(0.00019486272173788822, 9);
  expect(verdict.background?.cores).toBeNull();
});

test('beside every run there is one level, and nothing to compare it with', () => {
  const found = verdictOf(
    makeRecord({
      ...options(1.1),
      plan: { background: { ...background, blocks: [1, 2, 3, 4, 5, 6, 7, 8] } },
    }),
  ).background;
  expect(found?.interactions).toEqual([]);
  expect(found?.effects).toHaveLength(1);
  expect(found?.lines[0]?.line).toMatch(/ in 8 blocks$/);
});

test('without a background nothing is said of one', () => {
  expect(verdictOf(makeRecord())).not.toHaveProperty('background');
});
