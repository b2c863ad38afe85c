// What a verdict says of speed beyond one comparison: headlines, content, spread, wild blocks, the executed order.

import { expect, test } from 'vitest';
import type { JournalEvent } from '../../../src/core/records/journal.ts';
import { createRng } from '../../../src/core/rng.ts';
import {
  makePlan,
  makeRecord,
  type RecordOptions,
  row,
  runEvents,
  sessionEvents,
  verdictOf,
} from './record.ts';

/** A small deterministic noise of a run: the same for every request of it. */
function noise(key: string, share: number): number {
  return 1 + share * (2 * createRng(key).float() - 1);
}

const classes = ['prose', 'code', 'docs'];

test('the same effect in every class: one headline over all, and no word of content', () => {
  const options: RecordOptions = {
    classes,
    blocks: 6,
    answer: ({ arm, block, class: name }) => ({
      rate: (arm === 'fast' ? 150 : 100) * noise(`${arm}${block}${name}`, 0.01),
    }),
  };
  const { headlines, arms } = verdictOf(makeRecord(options));
  expect(headlines).toHaveLength(1);
  expect(headlines[0]).toMatchObject({ arm: 'fast', speed: 'faster', dependsOnContent: false });
  expect(headlines[0]?.line).toMatch(/^same output, 1\.\d+× faster \(/);
  // The mean over classes is of logarithms, each class with the same weight.
  const ratios = arms.filter((each) => each.arm === 'fast').map((each) => Math.log(each.ratio?.[1] ?? 0));
  expect(Math.log(headlines[0]?.ratio?.[1] ?? 0)).toBeCloseTo(
    ratios.reduce((sum, each) => sum + each, 0) / 3,
    9,
  );
});

test('an effect that depends on content has no single headline: the line names the classes', () => {
  const effect: Record<string, number> = { prose: 1.02, code: 1.5, docs: 1.1 };
  const options: RecordOptions = {
    classes,
    blocks: 6,
    answer: ({ arm, block, class: name }) => ({
      rate: 100 * (arm === 'fast' ? (effect[name] ?? 1) : 1) * noise(`${arm}${block}${name}`, 0.01),
    }),
  };
  const [headline] = verdictOf(makeRecord(options)).headlines;
  expect(headline).toMatchObject({ dependsOnContent: true });
  expect(headline?.interactionP).toBeLessThan(0.001);
  expect(headline?.range.map((each) => each.class)).toEqual(['prose', 'code']);
  expect(headline?.line).toMatch(
    /^the speed depends on content: 1\.0\d+× in prose to 1\.(49|50)\d*× in code; see each class$/,
  );
});

test('classes that differ by less than the margin share a headline, however certain the difference is', () => {
  const options: RecordOptions = {
    classes,
    blocks: 6,
    answer: ({ arm, block, class: name }) => ({
      rate:
        100 * (arm === 'fast' ? (name === 'code' ? 1.51 : 1.5) : 1) * noise(`${arm}${block}${name}`, 0.0005),
    }),
  };
  const [headline] = verdictOf(makeRecord(options)).headlines;
  expect(headline?.interactionP).toBeLessThan(0.05);
  expect(headline?.dependsOnContent).toBe(false);
});

test('one changed class is a changed output of the headline', () => {
  const options: RecordOptions = {
    classes,
    blocks: 4,
    answer: ({ arm, block, class: name }) => ({
      rate: (arm === 'fast' ? 150 : 100) * noise(`${arm}${block}${name}`, 0.01),
      ...(arm === 'fast' && name === 'docs' ? { ids: new Array<number>(64).fill(7) } : {}),
    }),
  };
  expect(verdictOf(makeRecord(options)).headlines[0]?.line).toMatch(
    /^changed output and 1\.\d+× faster .*a trade, not a win$/,
  );
});

/** A baseline whose runs lie 3 % apart and an arm whose runs lie `share` apart, the same on average. */
const steady = (share: number, ids = false): RecordOptions => ({
  blocks: 16,
  answer: ({ arm, block }) => ({
    rate:
      100 * (arm === 'fast' ? noise(`s${block}`, share) : 1 + 0.03 * ([1, -1, 0.5, -0.5][block % 4] ?? 0)),
    ...(ids && arm === 'fast' ? { ids: new Array<number>(64).fill(7) } : {}),
  }),
});

test('same output, equivalent mean, smaller spread between runs: steadier', () => {
  const verdict = verdictOf(makeRecord(steady(0.0005)));
  const fast = row(verdict, 'fast');
  expect(fast).toMatchObject({ speed: 'steadier', output: 'L0' });
  expect(fast.spreadRatio?.[2]).toBeLessThan(0.1);
  expect(fast.line).toMatch(
    /equivalent speed: .* within 3 %; steadier: runs spread by 0\.0\d+ % instead of 2\.5 %$/,
  );
  expect(fast.spread?.[1]).toBeLessThan(0.001);
});

test('without a smaller spread, or with another output, it is not steadier', () => {
  expect(row(verdictOf(makeRecord(steady(0.03))), 'fast').speed).toBe('equivalent');
  const changed = row(verdictOf(makeRecord(steady(0.0005, true))), 'fast');
  expect(changed.speed).toBe('equivalent');
  expect(changed.line).toContain('; its runs spread by');
});

test('from six blocks on a wild block is named by the estimate that it does not move', () => {
  const options: RecordOptions = {
    blocks: 8,
    answer: ({ arm, block }) => ({
      rate: arm === 'fast' ? (block === 3 ? 300 : 101 * noise(`w${block}`, 0.002)) : 100,
    }),
  };
  const fast = row(verdictOf(makeRecord(options)), 'fast');
  expect(fast.robust?.outlierDriven).toBe(true);
  expect(fast.line).toMatch(/; driven by single blocks: the Hodges–Lehmann estimate is 1\.01×$/);
  expect(fast.robust?.ratio[1]).toBeCloseTo(1.01, 1);
  expect(fast.ratio?.[1]).toBeGreaterThan(1.1);
  expect(row(verdictOf(makeRecord({ ...options, blocks: 5 })), 'fast').robust).toBeNull();
  const quiet: RecordOptions = {
    blocks: 8,
    answer: ({ arm, block }) => ({ rate: 100 * noise(`${arm}q${block}`, 0.01) }),
  };
  expect(row(verdictOf(makeRecord(quiet)), 'fast').robust?.outlierDriven).toBe(false);
});

test('repeated runs change the order that was executed, and that is said', () => {
  const plan = makePlan();
  const [first, second, ...rest] = plan.runs;
  if (first === undefined || second === undefined) throw new Error('no runs');
  const events: JournalEvent[] = [
    ...sessionEvents(),
    ...runEvents(plan, first).map(
      (event): JournalEvent =>
        event.type === 'run_end' ? { ...event, status: 'void', reason: 'it fell' } : event,
    ),
    ...runEvents(plan, second),
    ...runEvents(plan, first, {}, 2),
    ...rest.flatMap((run) => runEvents(plan, run)),
  ];
  const verdict = verdictOf({ plan, events });
  expect(verdict.executed.slice(0, 3)).toEqual([second.id, first.id, rest[0]?.id]);
  expect(verdict.warnings).toContain('repeated runs changed the order of 1 block: 1');
  expect(verdictOf(makeRecord()).executed).toEqual(plan.runs.map((run) => run.id));
});

test('variance components are kept for every class', () => {
  const { components } = verdictOf(
    makeRecord({
      classes: ['prose', 'code'],
      perBlock: 3,
      answer: ({ arm, block, prompt }) => ({
        rate: 100 * noise(`${arm}${block}`, 0.02) * noise(`${arm}${prompt}`, 0.01),
      }),
    }),
  );
  expect(components.map((each) => each.class)).toEqual(['prose', 'code']);
  for (const { request, run, block } of components) {
    expect(request).toBeGreaterThan(0.001);
    expect(request).toBeLessThan(0.02);
    expect(run).toBeGreaterThan(0);
    expect(block).not.toBeNull();
  }
});

test('an adjusted p-value says what the interval says, whichever procedure it is of', () => {
  for (const arms of [
    ['base', 'a'],
    ['base', 'a', 'b', 'c'],
  ]) {
    const seen = new Set<boolean>();
    for (let record = 0; record < 12; record++) {
      const verdict = verdictOf(
        makeRecord({
          arms,
          classes: ['prose', 'code'],
          answer: ({ arm, block, class: name }) => ({
            rate: 100 * (arm === 'a' ? 1.03 : 1) * noise(`${record}${arm}${block}${name}`, 0.02),
          }),
        }),
      );
      for (const each of verdict.arms) {
        if (each.test === null || each.ratio === null) continue;
        const excludes = each.ratio[0] > 1 || each.ratio[2] < 1;
        expect(excludes).toBe(each.test.p <= 0.05);
        seen.add(excludes);
      }
    }
    expect(seen.size).toBe(2);
  }
});
