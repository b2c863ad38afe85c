// Block model, Dunnett, looks, spreads and interactions: SciPy's and printed values, and what must not change them.

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRng } from '../../../src/core/rng.ts';
import { blockModel, loudness, type Table, unequalArms } from '../../../src/core/stats/block-model.ts';
import { varianceComponents } from '../../../src/core/stats/components.ts';
import { dunnettCdf, dunnettCritical, dunnettP } from '../../../src/core/stats/dunnett.ts';
import { hodgesLehmann, signedRankCut } from '../../../src/core/stats/hodges-lehmann.ts';
import { interaction, sphericity } from '../../../src/core/stats/interaction.ts';
import { normalQuantileAbove, normalTail } from '../../../src/core/stats/special.ts';
import { lookLevels, spentBy } from '../../../src/core/stats/spending.ts';
import { spreadOf, spreadRatio } from '../../../src/core/stats/spread.ts';
import { tQuantile, tTwoSided } from '../../../src/core/stats/student.ts';
import { chiSquaredQuantile, fTail } from '../../../src/core/stats/variance-tests.ts';
import { normal } from '../../calibrate/noise.ts';

type Rows = readonly (readonly [number, number, number, number])[];

const golden = JSON.parse(readFileSync(new URL('../golden/statistics.json', import.meta.url), 'utf8')) as {
  readonly dunnett: Rows;
  readonly dunnettTable: readonly (readonly [number, number, number])[];
  readonly normalQuantileAbove: readonly (readonly [number, number])[];
  readonly chiSquaredQuantile: readonly (readonly [number, number, number])[];
  readonly fTail: Rows;
  readonly blockModel: readonly { y: Table; error: number; df: number; between: number; loud: number[] }[];
  readonly interaction: readonly { d: Table; f: number; epsilon: number; p: number }[];
  readonly spread: readonly {
    a: number[];
    b: number[];
    sd: number;
    interval: number[];
    ratio: number;
    ratioInterval: number[];
    p: number;
  }[];
  readonly hodgesLehmann: readonly { x: number[]; estimate: number; interval: number[] }[];
  readonly lookBounds: readonly { shares: number[]; alpha: number; z: number[] }[];
};

const normals = (seed: number | string, n: number): number[] => {
  const rng = createRng(seed);
  return Array.from({ length: n }, () => normal(rng));
};

const tableOf = (seed: number | string, n: number, k: number): number[][] => {
  const rng = createRng(seed);
  return Array.from({ length: n }, () => Array.from({ length: k }, () => normal(rng)));
};

test('Dunnett’s probabilities, by another integration and by SciPy’s multivariate t', () => {
  for (const [d, m, df, p] of golden.dunnett) expect(dunnettCdf(d, m, df)).toBeCloseTo(p, 7);
});

test('Dunnett’s own table of critical values', () => {
  for (const [m, df, value] of golden.dunnettTable)
    expect(Math.abs(dunnettCritical(0.05, m, df) - value)).toBeLessThan(0.0051);
});

test('a critical value has the adjusted p-value that was asked for; one arm is Student’s', () => {
  for (const [alpha, m, df] of [
    [0.05, 3, 9],
    [0.0125, 6, 18],
    [0.1, 2, 4],
  ] as const) {
    expect(dunnettP(-dunnettCritical(alpha, m, df), m, df)).toBeCloseTo(alpha, 8);
  }
  expect(dunnettCritical(0.05, 1, 7)).toBeCloseTo(tQuantile(0.975, 7), 10);
  expect(dunnettP(2, 1, 7)).toBeCloseTo(tTwoSided(2, 7), 7);
  expect(dunnettP(0, 4, 7)).toBe(1);
});

test('more arms and fewer degrees of freedom need more, never more than Bonferroni', () => {
  for (const df of [4, 12, 60]) {
    const values = [1, 2, 4, 8].map((m) => dunnettCritical(0.05, m, df));
    expect([...values].sort((a, b) => a - b)).toEqual(values);
    for (const [index, m] of [1, 2, 4, 8].entries())
      expect(values[index]).toBeLessThanOrEqual(tQuantile(1 - 0.025 / m, df) + 1e-9);
  }
});

test('quantiles and tails of the normal, χ² and F laws', () => {
  for (const [p, z] of golden.normalQuantileAbove) expect(normalQuantileAbove(p)).toBeCloseTo(z, 9);
  for (const [p, df, x] of golden.chiSquaredQuantile) expect(chiSquaredQuantile(p, df) / x).toBeCloseTo(1, 8);
  for (const [f, a, b, p] of golden.fTail) expect(fTail(f, a, b) / p).toBeCloseTo(1, 8);
  for (const p of [0, 1]) {
    expect(() => normalQuantileAbove(p)).toThrow(RangeError);
    expect(() => chiSquaredQuantile(p, 3)).toThrow(RangeError);
  }
});

test('the block model is the least-squares fit of blocks and arms, and loudness its F test', () => {
  for (const { y, error, df, between, loud } of golden.blockModel) {
    const model = blockModel(y);
    expect(model.error / error).toBeCloseTo(1, 9);
    expect(model.df).toBe(df);
    expect(model.blockMeanSquare / between).toBeCloseTo(1, 9);
    for (const [arm, p] of loud.entries()) expect(loudness(y)?.[arm]).toBeCloseTo(p, 8);
  }
  expect(() => blockModel([[1, 2]])).toThrow(RangeError);
});

test('what a whole block or a whole arm has in common does not enter the error', () => {
  fc.assert(
    fc.property(
      fc.integer(),
      fc.integer({ min: 2, max: 6 }),
      fc.integer({ min: 2, max: 5 }),
      (seed, n, k) => {
        const table = tableOf(seed, n, k);
        const moved = table.map((row, block) => row.map((y, arm) => y + 7 * block - 3 * arm));
        expect(blockModel(moved).error).toBeCloseTo(blockModel(table).error, 9);
        expect(unequalArms(moved)).toEqual(unequalArms(table));
      },
    ),
    { numRuns: 50 },
  );
});

test('with two columns the block model is the paired t test', () => {
  const table = tableOf('two', 7, 2);
  const differences = table.map(([a = 0, b = 0]) => b - a);
  const mean = differences.reduce((sum, d) => sum + d, 0) / 7;
  const variance = differences.reduce((sum, d) => sum + (d - mean) ** 2, 0) / 6;
  expect(2 * blockModel(table).error).toBeCloseTo(variance, 10);
});

test('equal arms are doubted as often as the level says, and taken out hardly ever', () => {
  let doubted = 0;
  let apart = 0;
  const repeats = 3000;
  const rng = createRng('doubt');
  for (let i = 0; i < repeats; i++) {
    const table = Array.from({ length: 6 }, () => Array.from({ length: 4 }, () => normal(rng)));
    const found = unequalArms(table);
    if (found.doubtful.some((arm) => arm !== 0)) doubted++;
    apart += found.apart.length;
  }
  // Bonferroni over three arms at 0.4: at most 40 %, at least one arm's 13 %.
  expect(doubted / repeats).toBeLessThan(0.4 + 0.027);
  expect(doubted / repeats).toBeGreaterThan(0.2);
  expect(apart / repeats).toBeLessThan(0.003);
});

test('a loud column is found, wherever it stands', () => {
  for (const loud of [0, 2]) {
    const table = tableOf(`loud ${loud}`, 8, 5).map((row) =>
      row.map((y, arm) => (arm === loud ? 20 * y : y)),
    );
    expect(unequalArms(table).apart).toEqual([loud]);
  }
});

test('class × arm: F, Greenhouse and Geisser’s ε and p', () => {
  for (const { d, f, epsilon, p } of golden.interaction) {
    expect(sphericity(d)).toBeCloseTo(epsilon, 9);
    expect(interaction(d)?.f).toBeCloseTo(f, 8);
    expect(interaction(d)?.p).toBeCloseTo(p, 9);
  }
  expect(interaction([[1, 2]])).toBeNull();
  expect(interaction([[1], [2]])).toBeNull();
  expect(
    interaction([
      [1, 2],
      [1, 2],
    ]),
  ).toMatchObject({ p: 0 });
  expect(
    interaction([
      [1, 1],
      [2, 2],
    ]),
  ).toMatchObject({ p: 1 });
});

test('spreads with their intervals; their ratio by inverting Pitman and Morgan’s test', () => {
  for (const { a, b, sd, interval, ratio, ratioInterval, p } of golden.spread) {
    const own = spreadOf(a);
    expect(own?.sd).toBeCloseTo(sd, 10);
    for (const end of [0, 1] as const)
      expect((own?.interval[end] ?? 0) / (interval[end] ?? 1)).toBeCloseTo(1, 8);
    const both = spreadRatio(a, b);
    expect(both?.ratio).toBeCloseTo(ratio, 10);
    expect(both?.p).toBeCloseTo(p, 10);
    for (const end of [0, 1] as const)
      expect((both?.interval[end] ?? 0) / (ratioInterval[end] ?? 1)).toBeCloseTo(1, 6);
  }
  expect(spreadOf([1])).toBeNull();
  expect(spreadRatio([1, 2, 3], [1, 2, 4])).toBeNull();
  expect(spreadRatio([1, 1, 1, 1], [1, 2, 3, 4])).toBeNull();
});

test('a ratio of spreads excludes 1 exactly when its test rejects; swapping the two turns it over', () => {
  fc.assert(
    fc.property(
      fc.integer(),
      fc.integer({ min: 4, max: 12 }),
      fc.double({ min: 0.05, max: 20, noNaN: true }),
      (seed, n, factor) => {
        const first = normals(`${seed} a`, n).map((value) => value * factor);
        const second = normals(`${seed} b`, n);
        const one = spreadRatio(first, second);
        const other = spreadRatio(second, first);
        const [low, high] = one?.interval ?? [0, 0];
        expect(low > 1 || high < 1).toBe((one?.p ?? 1) < 0.05);
        expect((one?.ratio ?? 0) * (other?.ratio ?? 0)).toBeCloseTo(1, 9);
        expect(low * (other?.interval[1] ?? 0)).toBeCloseTo(1, 6);
      },
    ),
    { numRuns: 100 },
  );
});

test('Hodges–Lehmann: the estimate and the ends that SciPy’s signed-rank test would just not reject', () => {
  for (const { x, estimate, interval } of golden.hodgesLehmann) {
    const found = hodgesLehmann(x);
    expect(found?.estimate).toBeCloseTo(estimate, 12);
    expect(found?.interval[0]).toBeCloseTo(interval[0] ?? Number.NaN, 12);
    expect(found?.interval[1]).toBeCloseTo(interval[1] ?? Number.NaN, 12);
  }
  expect(hodgesLehmann([1, 2, 3, 4, 5])).toBeNull();
  // Tables of the signed-rank test at two-sided 5 %: 0 for n = 6, 2 for 7, 5 for 9, 8 for 10.
  expect([6, 7, 9, 10].map((n) => signedRankCut(n, 0.025) - 1)).toEqual([0, 2, 5, 8]);
});

test('Hodges–Lehmann moves with the values and one wild value hardly moves it', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 6, max: 15 }), (seed, n) => {
      const values = normals(seed, n);
      const here = hodgesLehmann(values)?.estimate ?? Number.NaN;
      expect(hodgesLehmann(values.map((value) => 3 * value + 5))?.estimate).toBeCloseTo(3 * here + 5, 9);
      const wild = hodgesLehmann([...values.slice(1), 1e6])?.estimate ?? Number.NaN;
      expect(Math.abs(wild - here)).toBeLessThan(4);
    }),
    { numRuns: 50 },
  );
});

test('O’Brien–Fleming boundaries are those of other recursions and of the printed table', () => {
  for (const { shares, alpha, z } of golden.lookBounds) {
    const ours = lookLevels(shares, alpha).map((level) => normalQuantileAbove(level / 2));
    for (const [index, bound] of z.entries())
      expect(Math.abs((ours[index] ?? 0) - bound)).toBeLessThan(index === 0 ? 2e-4 : 2e-3);
  }
});

test('one look may spend all; more looks spend no more together than was given, and each later one more', () => {
  expect(lookLevels([1], 0.05)[0]).toBeCloseTo(0.05, 10);
  expect(spentBy(1, 0.05)).toBe(0.05);
  const levels = lookLevels([0.4, 0.6, 0.8, 1], 0.05);
  expect([...levels].sort((a, b) => a - b)).toEqual(levels);
  // Simulated: sums of normals crossing any of the four boundaries.
  const rng = createRng('looks');
  const repeats = 20_000;
  let crossed = 0;
  for (let i = 0; i < repeats; i++) {
    let sum = 0;
    let before = 0;
    for (const [index, share] of [0.4, 0.6, 0.8, 1].entries()) {
      sum += Math.sqrt(share - before) * normal(rng);
      before = share;
      if (2 * normalTail(Math.abs(sum) / Math.sqrt(share)) <= (levels[index] ?? 0)) {
        crossed++;
        break;
      }
    }
  }
  // Three standard errors of a share of 5 % in 20,000 are 0.46 points.
  expect(Math.abs(crossed / repeats - 0.05)).toBeLessThan(0.0047);
});

test('variance components come out as they were put in', () => {
  const rng = createRng('components');
  const [request, run, block] = [0.04, 0.02, 0.03];
  const prompts = 10;
  const runs: number[][] = [];
  const requests: Table[] = [];
  for (let b = 0; b < 400; b++) {
    const shared = block * normal(rng);
    const hard = Array.from({ length: prompts }, () => 0.2 * normal(rng));
    const arms = Array.from({ length: 3 }, () => shared + run * normal(rng));
    const each = hard.map((prompt) => arms.map((arm) => arm + prompt + request * normal(rng)));
    requests.push(each);
    runs.push(arms.map((_, a) => each.reduce((sum, row) => sum + (row[a] ?? 0), 0) / prompts));
  }
  const found = varianceComponents(runs, requests);
  expect(found.request).toBeCloseTo(request, 2);
  expect(found.run).toBeCloseTo(run, 2);
  // The prompts of a block are its own: their mean is part of what blocks differ by.
  expect(found.block).toBeCloseTo(Math.sqrt(block ** 2 + 0.2 ** 2 / prompts), 1);
  expect(varianceComponents([[1, 2]], [])).toEqual({ request: null, run: null, block: null });
});
