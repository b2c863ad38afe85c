// The statistics against SciPy's values (golden/statistics.json, made by golden/make_statistics.py).

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isEquivalent } from '../../../src/core/stats/equivalence.ts';
import { holm } from '../../../src/core/stats/holm.ts';
import { pairedEstimate, pairedInterval } from '../../../src/core/stats/paired.ts';
import { pairedPower, smallestEffect } from '../../../src/core/stats/power.ts';
import { incompleteBeta, lnGamma, normalCdf } from '../../../src/core/stats/special.ts';
import { noncentralTCdf, tCdf, tQuantile, tTwoSided } from '../../../src/core/stats/student.ts';

type Rows = readonly (readonly number[])[];

const golden = JSON.parse(readFileSync(new URL('../golden/statistics.json', import.meta.url), 'utf8')) as {
  readonly lnGamma: Rows;
  readonly incompleteBeta: Rows;
  readonly normalCdf: Rows;
  readonly tCdf: Rows;
  readonly tTwoSided: Rows;
  readonly tQuantile: Rows;
  readonly noncentralT: Rows;
  readonly power: Rows;
  readonly smallestEffect: Rows;
  readonly paired: readonly {
    values: number[];
    mean: number;
    sd: number;
    p: number;
    interval95: [number, number];
  }[];
  readonly holm: readonly { p: number[]; adjusted: number[] }[];
  readonly tost: readonly { values: number[]; margin: number; p: number }[];
};

/** Relative, except where the value itself is 0. */
function expectClose(
  actual: number | null | undefined,
  expected: number | undefined,
  tolerance: number,
): void {
  expect(actual).toBeTypeOf('number');
  expect(expected).toBeTypeOf('number');
  const error = Math.abs(Number(actual) - Number(expected));
  expect(error, `${actual} for ${expected}`).toBeLessThan(tolerance * Math.abs(Number(expected)) + 1e-14);
}

const FUNCTIONS: readonly [keyof typeof golden, (...args: number[]) => number | null, number][] = [
  ['lnGamma', (x = Number.NaN) => lnGamma(x), 1e-11],
  ['incompleteBeta', (x = 0, a = 0, b = 0) => incompleteBeta(x, a, b), 1e-11],
  ['normalCdf', (z = 0) => normalCdf(z), 1e-10],
  ['tCdf', (t = 0, df = 0) => tCdf(t, df), 1e-10],
  ['tTwoSided', (t = 0, df = 0) => tTwoSided(t, df), 1e-11],
  ['tQuantile', (p = 0, df = 0) => tQuantile(p, df), 1e-10],
  ['noncentralT', (t = 0, df = 0, ncp = 0) => noncentralTCdf(t, df, ncp), 1e-8],
  ['power', (effect = 0, sd = 0, n = 0, alpha = 0) => pairedPower(effect, sd, n, alpha), 1e-8],
  ['smallestEffect', (n = 0, alpha = 0) => smallestEffect(1, n, { alpha, power: 0.8 }), 2e-6],
];

test.each(FUNCTIONS)('%s is SciPy’s', (name, ours, tolerance) => {
  const rows = golden[name] as Rows;
  expect(rows.length).toBeGreaterThan(5);
  for (const row of rows) expectClose(ours(...row.slice(0, -1)), row.at(-1), tolerance);
});

test('the paired estimate and its interval are those of a one-sample t test of the differences', () => {
  for (const { values, mean, sd, p, interval95 } of golden.paired) {
    const estimate = pairedEstimate(values);
    if (estimate === null) throw new Error('no estimate');
    expectClose(estimate.mean, mean, 1e-12);
    expectClose(estimate.sd, sd, 1e-12);
    expectClose(estimate.p, p, 1e-9);
    const [low, high] = pairedInterval(estimate, 0.05);
    expectClose(low, interval95[0], 1e-8);
    expectClose(high, interval95[1], 1e-8);
  }
});

test('Holm’s adjusted p-values', () => {
  for (const { p, adjusted } of golden.holm) {
    for (const [index, step] of holm(p, 0.05).entries()) expectClose(step.adjusted, adjusted[index], 1e-12);
  }
});

test('an interval lies inside the margin exactly when both one-sided tests reject at half its level', () => {
  const seen = new Set<boolean>();
  for (const { values, margin, p } of golden.tost) {
    const estimate = pairedEstimate(values);
    if (estimate === null) throw new Error('no estimate');
    for (const level of [0.5, 0.9, 1.1, 2].map((factor) => 2 * p * factor)) {
      if (level >= 1) continue;
      const [low, high] = pairedInterval(estimate, level);
      const inside = isEquivalent([Math.exp(low), Math.exp(high)], margin);
      expect(inside).toBe(p < level / 2);
      seen.add(inside);
    }
  }
  expect(seen.size).toBe(2);
});
