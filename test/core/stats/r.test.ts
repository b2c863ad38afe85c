// The comparisons against R's own functions and multcomp (golden/r-statistics.json, made by golden/make_r_statistics.R).

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { blockModel } from '../../../src/core/stats/block-model.ts';
import { dunnettP } from '../../../src/core/stats/dunnett.ts';
import { hodgesLehmann } from '../../../src/core/stats/hodges-lehmann.ts';
import { holm } from '../../../src/core/stats/holm.ts';
import { interaction } from '../../../src/core/stats/interaction.ts';
import { pairedEstimate, pairedInterval } from '../../../src/core/stats/paired.ts';
import { pairedPower } from '../../../src/core/stats/power.ts';
import { spreadRatio } from '../../../src/core/stats/spread.ts';

const golden = JSON.parse(readFileSync(new URL('../golden/r-statistics.json', import.meta.url), 'utf8')) as {
  readonly paired: readonly { values: number[]; p: number; interval: number[] }[];
  readonly holm: readonly { p: number[]; adjusted: number[] }[];
  readonly dunnett: readonly { y: number[][]; error: number; df: number; t: number[]; p: number[] }[];
  readonly interaction: readonly { d: number[][]; f: number; p: number }[];
  readonly hodgesLehmann: readonly { x: number[]; interval: number[]; walshMedian: number }[];
  readonly spread: readonly { a: number[]; b: number[]; p: number }[];
  readonly power: readonly { n: number; effect: number; sd: number; power: number }[];
};

const close = (actual: number | undefined, expected: number | undefined, tolerance = 1e-9): void => {
  const share = Math.abs((actual ?? Number.NaN) / (expected ?? Number.NaN) - 1);
  expect(share, `${actual} beside ${expected}`).toBeLessThan(tolerance);
};

test('t.test: p and interval of one difference a block', () => {
  for (const { values, p, interval } of golden.paired) {
    const found = pairedEstimate(values);
    if (found === null) throw new Error('no estimate');
    close(found.p, p);
    for (const [i, end] of pairedInterval(found, 0.05).entries()) close(end, interval[i]);
  }
});

test('p.adjust: Holm’s procedure', () => {
  for (const { p, adjusted } of golden.holm) {
    for (const [i, step] of holm(p, 0.05).entries()) close(step.adjusted, adjusted[i], 1e-12);
  }
});

test('lm and glht: the block model’s error, and Dunnett’s single step with it', () => {
  for (const { y, error, df, t, p } of golden.dunnett) {
    const model = blockModel(y);
    close(model.error, error);
    expect(model.df).toBe(df);
    for (const [i, expected] of p.entries()) {
      const difference = (model.means[i + 1] ?? 0) - (model.means[0] ?? 0);
      const own = difference / Math.sqrt((2 * model.error) / y.length);
      close(own, t[i]);
      // multcomp integrates by Genz's random points, to about a millionth.
      expect(Math.abs(dunnettP(own, p.length, df) - expected)).toBeLessThan(2e-6);
    }
  }
});

test('anova of a multivariate model: class × arm with Greenhouse and Geisser’s correction', () => {
  for (const { d, f, p } of golden.interaction) {
    close(interaction(d)?.f, f);
    close(interaction(d)?.p, p);
  }
});

test('wilcox.test: the interval of the signed ranks, and the median of Walsh averages', () => {
  for (const { x, interval, walshMedian } of golden.hodgesLehmann) {
    const found = hodgesLehmann(x);
    close(found?.estimate, walshMedian, 1e-12);
    for (const [i, end] of interval.entries()) close(found?.interval[i], end, 1e-12);
  }
});

test('cor.test: Pitman and Morgan’s test of two spreads', () => {
  for (const { a, b, p } of golden.spread) close(spreadRatio(a, b)?.p, p);
});

test('power.t.test: the power of a paired comparison', () => {
  for (const { n, effect, sd, power } of golden.power) close(pairedPower(effect, sd, n, 0.05), power, 1e-7);
});
