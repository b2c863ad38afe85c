// Looks and screening: when they stop, what they leave out, and that a claim is made of fresh blocks at the level of its look.

import { expect, test } from 'vitest';
import { createRng } from '../../../src/core/rng.ts';
import { lookLevels } from '../../../src/core/stats/spending.ts';
import { decisionAfter } from '../../../src/core/verdict/decide.ts';
import { spendAfter } from '../../../src/core/verdict/looks.ts';
import { decidedRecord } from './decided.ts';
import { makePlan, type RecordOptions, row, runEvents, sessionEvents, verdictOf } from './record.ts';

const noise = (key: string, share: number): number => 1 + share * (2 * createRng(key).float() - 1);

const LOOKS = { looks: [4, 6, 8, 12], precision: null };

function looking(
  rate: (arm: string, block: number) => number,
  change: Partial<RecordOptions> = {},
): RecordOptions {
  return {
    blocks: 12,
    plan: { stop: LOOKS },
    answer: ({ arm, block }) => ({ rate: rate(arm, block) }),
    ...change,
  };
}

test('a certain difference stops at the first look, and the interval is the one of that look', () => {
  const options = looking((arm, block) => (arm === 'fast' ? 200 : 100) * noise(`${arm}${block}`, 0.01));
  const verdict = verdictOf(decidedRecord(options));
  expect(verdict.decisions).toHaveLength(1);
  expect(verdict.decisions[0]).toMatchObject({
    afterBlock: 4,
    stop: true,
    because: 'difference',
    leftOut: [],
  });
  expect(verdict.decisions[0]?.reason).toBe('stopped after 4 of 12 blocks: 1 comparison decided');
  // What was not run is not missing.
  expect(verdict).toMatchObject({ complete: true, exitCode: 0 });
  expect(verdict.runs).toHaveLength(8);
  expect(verdict.warnings.join()).not.toContain('never run');
  const level = row(verdict, 'fast').test?.level ?? 1;
  expect(level).toBeCloseTo(lookLevels([4 / 12, 0.5, 8 / 12, 1], 0.05)[0] ?? 0, 9);
  expect(level).toBeLessThan(0.001);
});

test('equivalence stops, and so does noise that no block of the plan would overcome, with what it would take', () => {
  const same = verdictOf(decidedRecord(looking((arm, block) => 100 * noise(`${arm}${block}`, 0.001))));
  expect(same.decisions.at(-1)).toMatchObject({ stop: true, because: 'equivalence' });
  expect(same.decisions.at(-1)?.reason).toMatch(
    /^stopped after \d of 12 blocks: 1 comparison equivalent within 3 %$/,
  );
  const loud = verdictOf(decidedRecord(looking((arm, block) => 100 * noise(`${arm}${block}`, 0.6))));
  expect(loud.decisions.at(-1)).toMatchObject({ stop: true, because: 'futility' });
  expect(loud.decisions.at(-1)?.reason).toMatch(
    /1 comparison cannot be decided at this noise: (reduce the noise first|3 % needs about \d+ blocks)$/,
  );
  expect(loud.complete).toBe(true);
});

test('precision: a difference that is certain goes on until it is known well enough', () => {
  const rate = (arm: string, block: number): number =>
    (arm === 'fast' ? 120 : 100) * noise(`${arm}${block}`, 0.02);
  const vague = verdictOf(decidedRecord(looking(rate, { plan: { stop: { ...LOOKS, precision: 0.0001 } } })));
  expect(vague.decisions.every(({ stop }) => !stop)).toBe(true);
  expect(vague.decisions.map(({ afterBlock }) => afterBlock)).toEqual([4, 6, 8]);
  expect(vague.runs).toHaveLength(24);
  const exact = verdictOf(decidedRecord(looking(rate, { plan: { stop: { ...LOOKS, precision: 0.2 } } })));
  expect(exact.decisions.at(-1)).toMatchObject({ stop: true, because: 'precision' });
});

test('the last look has the level that the others left, and no look is taken between two', () => {
  const plan = makePlan({ blocks: 12, plan: { stop: LOOKS } });
  const levels = [4, 5, 6, 11, 12].map((blocks) => spendAfter(plan, blocks)(0.05));
  expect(levels[1]).toBe(levels[0]);
  expect(levels[3]).toBeGreaterThan(levels[2] ?? 1);
  expect(levels[4]).toBeGreaterThan(levels[3] ?? 1);
  expect(levels[4]).toBeLessThan(0.05);
  expect(spendAfter(makePlan(), 4)(0.05)).toBe(0.05);
});

const ARMS = ['base', 'good', 'bad', 'same'];

function sweeping(change: Partial<RecordOptions> = {}): RecordOptions {
  return {
    arms: ARMS,
    blocks: 9,
    plan: { sweep: { screen: 3 } },
    answer: ({ arm, block }) => {
      const lucky = arm === 'good' && block <= 3 ? 1.3 : 1;
      const factor = { base: 1, good: 1.2, bad: 0.7, same: 1 }[arm] ?? 1;
      return { rate: 100 * factor * lucky * noise(`${arm}${block}`, 0.005) };
    },
    ...change,
  };
}

test('a sweep leaves out what cannot be faster by the margin, and claims from fresh blocks only', () => {
  const record = decidedRecord(sweeping());
  const verdict = verdictOf(record);
  expect(verdict.decisions).toHaveLength(1);
  expect(verdict.decisions[0]).toMatchObject({
    afterBlock: 3,
    stop: false,
    because: 'screening',
    leftOut: ['bad', 'same'],
  });
  expect(verdict.decisions[0]?.reason).toMatch(
    /^screened in 3 blocks: left out: bad at most 0\.7\d+×, same at most 1\.0\d+× \(upper bound at 90 %\)$/,
  );
  // 3 blocks of 4 arms, 6 of 2.
  expect(verdict.runs).toHaveLength(24);
  expect(verdict.complete).toBe(true);
  // The luck of the screening is not in the claim: nor in the rate that stands beside it.
  const good = row(verdict, 'good');
  expect(good.ratio?.[1]).toBeCloseTo(1.2, 1);
  expect(good.blocks).toBe(6);
  expect(good.split?.tokPerSec).toBeCloseTo(Math.log(good.ratio?.[1] ?? 0), 6);
  expect((good.tokPerSec ?? 0) / (row(verdict, 'base').tokPerSec ?? 1)).toBeCloseTo(good.ratio?.[1] ?? 0, 9);
  for (const name of ['bad', 'same']) {
    expect(row(verdict, name)).toMatchObject({ speed: 'inconclusive', ratio: null, output: 'L0', blocks: 3 });
    expect(row(verdict, name).line).toBe(
      'same output; speed not measured: screened out after 3 blocks, no claim is made',
    );
  }
});

test('a sweep that leaves nobody ends there', () => {
  const verdict = verdictOf(
    decidedRecord(
      sweeping({
        answer: ({ arm, block }) => ({ rate: (arm === 'base' ? 100 : 80) * noise(`${arm}${block}`, 0.01) }),
      }),
    ),
  );
  expect(verdict.decisions[0]).toMatchObject({ stop: true, leftOut: ['good', 'bad', 'same'] });
  expect(verdict).toMatchObject({ complete: true });
  expect(verdict.runs).toHaveLength(12);
});

test('looks of a sweep count the blocks that confirm', () => {
  const options = sweeping({
    blocks: 11,
    plan: { sweep: { screen: 3 }, stop: { looks: [4, 8], precision: null } },
  });
  const verdict = verdictOf(decidedRecord(options));
  expect(verdict.decisions.map(({ afterBlock, because }) => [afterBlock, because])).toEqual([
    [3, 'screening'],
    [7, 'difference'],
  ]);
});

test('an arm that never ran keeps nobody running; a decision is made once', () => {
  const options = looking((arm, block) => (arm === 'fast' ? 200 : 100) * noise(`${arm}${block}`, 0.01), {
    arms: ['base', 'fast', 'dead'],
  });
  const plan = makePlan(options);
  const events = [
    ...sessionEvents(options),
    ...plan.runs
      .filter(({ arm, block }) => arm !== 'dead' && block <= 4)
      .flatMap((run) => runEvents(plan, run, options)),
  ];
  const decision = decisionAfter(plan, events, 4);
  expect(decision).toMatchObject({ stop: true, because: 'difference' });
  if (decision === null) throw new Error('no decision');
  expect(decisionAfter(plan, [...events, { type: 'decision', utc: '', decision }], 4)).toBeNull();
  expect(decisionAfter(plan, events, 3)).toBeNull();
  // Nor does it keep the verdict at an earlier look than the one that was reached.
  const all = plan.runs.filter(({ arm }) => arm !== 'dead').flatMap((run) => runEvents(plan, run, options));
  const judged = verdictOf({ plan, events: [...sessionEvents(options), ...all] });
  expect(row(judged, 'fast').test?.level).toBeCloseTo(spendAfter(plan, 12)(0.05 / 2), 9);
  expect(row(judged, 'fast').test?.level).toBeGreaterThan(0.01);
});
