// The speed verdict as statistics: words, tests and intervals never contradict each other.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRng, type Rng } from '../../../src/core/rng.ts';
import { dunnettCritical } from '../../../src/core/stats/dunnett.ts';
import { holm } from '../../../src/core/stats/holm.ts';
import { pairedEstimate } from '../../../src/core/stats/paired.ts';
import type { RateTable } from '../../../src/core/verdict/rates.ts';
import { FAMILY_ALPHA, judgeSpeed, speedWord } from '../../../src/core/verdict/speed.ts';

const RULES = { margin: 0.03 };

/** Sum of twelve uniforms less six: near enough to normal for tests of form. */
function normal(rng: Rng): number {
  return Array.from({ length: 12 }, () => rng.float()).reduce((sum, each) => sum + each, -6);
}

interface Shape {
  readonly arms: number;
  readonly blocks: number;
  readonly effect?: (arm: number) => number;
  readonly sd?: (arm: number) => number;
  readonly class?: string;
}

function tableOf(rng: Rng, { arms, blocks, effect, sd, class: name }: Shape): RateTable {
  return {
    class: name ?? 'prose',
    arms: Array.from({ length: arms }, (_, arm) => (arm === 0 ? 'base' : `a${arm}`)),
    blocks: Array.from({ length: blocks }, () => {
      const block = 0.05 * normal(rng);
      return Array.from({ length: arms }, (_, arm) =>
        Math.exp(4.6 + block + (effect?.(arm) ?? 0) + (sd?.(arm) ?? 0.01) * normal(rng)),
      );
    }),
  };
}

test('words from intervals: certain differences first, then certain smallness', () => {
  const words = [
    [1.001, 1.002],
    [0.9, 0.999],
    [0.98, 1.02],
    [0.98, 1.08],
    [0.9, 1.08],
    [0.9, 1.01],
    [1, 1],
  ].map(([low = 0, high = 0]) => speedWord([low, high], RULES.margin));
  expect(words).toEqual([
    'faster',
    'slower',
    'equivalent',
    'non-inferior',
    'inconclusive',
    'inconclusive',
    'equivalent',
  ]);
});

test('two arms: an interval excludes 1 exactly when Holm over the classes rejects, for effects and noise of all sizes', () => {
  const rng = createRng('families');
  const seen = new Set<string>();
  for (let family = 0; family < 12; family++) {
    const tables = ['prose', 'code', 'docs'].map((name, index) =>
      tableOf(rng, { arms: 2, blocks: 4, class: name, effect: (arm) => 0.02 * arm * index, sd: () => 0.015 }),
    );
    const p = tables.map(
      ({ blocks }) => pairedEstimate(blocks.map(([base, arm]) => Math.log((arm ?? 1) / (base ?? 1))))?.p ?? 1,
    );
    const decided = holm(p, FAMILY_ALPHA);
    for (const [index, finding] of judgeSpeed(tables, RULES).entries()) {
      const [low, , high] = finding.ratio ?? [0, 0, 0];
      expect(finding.test?.method).toBe('own pairs');
      expect(low > 1 || high < 1).toBe(decided[index]?.rejected);
      expect(['faster', 'slower'].includes(finding.speed)).toBe(decided[index]?.rejected);
      seen.add(finding.speed);
    }
  }
  expect(seen.size).toBeGreaterThan(1);
});

test('many arms of one spread: the pooled error, and Dunnett over the arms and Bonferroni over the classes', () => {
  // Some draws look unequal by chance; this is about one that does not.
  const tables = Array.from({ length: 50 }, (_, seed) => {
    const rng = createRng(seed);
    return ['prose', 'code'].map((name) => tableOf(rng, { arms: 4, blocks: 6, class: name }));
  }).find((each) => judgeSpeed(each, RULES).every(({ unequal }) => !unequal));
  if (tables === undefined) throw new Error('no draw without doubt');
  for (const { test: found, ratio } of judgeSpeed(tables, RULES)) {
    expect(found).toMatchObject({ method: 'block model', df: 15, pooledArms: 3 });
    const half = (dunnettCritical(FAMILY_ALPHA / 2, 3, 15) * (found?.sd ?? 0)) / Math.sqrt(6);
    expect(Math.log((ratio?.[2] ?? 0) / (ratio?.[1] ?? 0))).toBeCloseTo(half, 8);
  }
});

test('a loud arm is judged by its own pairs and leaves the error of the others alone', () => {
  const rng = createRng('loud 2');
  const table = tableOf(rng, { arms: 5, blocks: 8, sd: (arm) => (arm === 4 ? 0.16 : 0.005) });
  const found = judgeSpeed([table], RULES);
  expect(found.map(({ unequal }) => unequal)).toEqual([false, false, false, true]);
  expect(found[3]?.test).toMatchObject({ method: 'own pairs', df: 7 });
  expect(found[0]?.test).toMatchObject({ method: 'block model', df: 21 });
  expect(found[0]?.test?.sd).toBeLessThan(0.012);
});

test('a loud baseline is in every comparison: each is judged by its own pairs', () => {
  const table = tableOf(createRng('base'), { arms: 4, blocks: 8, sd: (arm) => (arm === 0 ? 0.16 : 0.005) });
  for (const finding of judgeSpeed([table], RULES))
    expect(finding).toMatchObject({ unequal: true, test: { method: 'own pairs' } });
});

test('three blocks tell no unequal arm, so nothing is pooled', () => {
  const table = tableOf(createRng('three'), { arms: 4, blocks: 3 });
  for (const { test: found } of judgeSpeed([table], RULES)) expect(found?.method).toBe('own pairs');
});

test('what all runs of a block have in common, and the unit of the rates, change nothing', () => {
  const shape = fc.record({
    seed: fc.integer(),
    arms: fc.integer({ min: 2, max: 5 }),
    blocks: fc.integer({ min: 2, max: 7 }),
    factors: fc.array(fc.double({ min: 0.1, max: 10, noNaN: true }), { minLength: 7, maxLength: 7 }),
  });
  fc.assert(
    fc.property(shape, ({ seed, arms, blocks, factors }) => {
      const table = tableOf(createRng(seed), { arms, blocks });
      const moved = {
        ...table,
        blocks: table.blocks.map((row, block) => row.map((rate) => (rate ?? 0) * (factors[block] ?? 1))),
      };
      const [first, second] = [table, moved].map((each) => judgeSpeed([each], RULES));
      for (const [index, finding] of (first ?? []).entries()) {
        const other = second?.[index];
        expect(other?.speed).toBe(finding.speed);
        for (const place of [0, 1, 2] as const)
          expect(Math.log((other?.ratio?.[place] ?? 0) / (finding.ratio?.[place] ?? 1))).toBeCloseTo(0, 6);
      }
    }),
    { numRuns: 30 },
  );
});

test('the order of the arms beside the baseline changes nothing', () => {
  const table = tableOf(createRng('order'), { arms: 4, blocks: 5, effect: (arm) => 0.02 * arm });
  const reversed = {
    ...table,
    arms: [0, 3, 2, 1].map((arm) => table.arms[arm] ?? ''),
    blocks: table.blocks.map((row) => [0, 3, 2, 1].map((arm) => row[arm] ?? null)),
  };
  const byArm = (each: RateTable) =>
    Object.fromEntries(
      judgeSpeed([each], RULES).map(({ arm, speed, ratio }) => [
        arm,
        [speed, ratio?.map((r) => r.toFixed(9))],
      ]),
    );
  expect(byArm(reversed)).toEqual(byArm(table));
});

test('blocks without both rates are left out, and a comparison without any keeps its place in the family', () => {
  const blocks = [
    [100, 210],
    [100, null],
    [null, 200],
    [100, 205],
    [100, 207],
  ];
  const one: RateTable = { class: 'prose', arms: ['base', 'a'], blocks };
  const none: RateTable = {
    class: 'prose',
    arms: ['base', 'a', 'b'],
    blocks: blocks.map((row) => [...row, null]),
  };
  const [alone] = judgeSpeed([one], RULES);
  const [beside, empty] = judgeSpeed([none], RULES);
  expect(alone).toMatchObject({ speed: 'faster', blocks: 3 });
  expect(empty).toEqual({
    arm: 'b',
    class: 'prose',
    speed: 'inconclusive',
    ratio: null,
    blocks: 0,
    test: null,
    unequal: false,
  });
  expect((beside?.ratio?.[2] ?? 0) - (beside?.ratio?.[0] ?? 0)).toBeGreaterThan(
    (alone?.ratio?.[2] ?? 0) - (alone?.ratio?.[0] ?? 0),
  );
});
