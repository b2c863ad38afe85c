// What makes a measurement doubtful, incomplete or invalid, and that the verdict says so.

import { expect, test } from 'vitest';
import { InvalidRecordError } from '../../../src/core/errors.ts';
import type { JournalEvent } from '../../../src/core/records/journal.ts';
import type { Plan } from '../../../src/core/records/plan.ts';
import { stableJson } from '../../../src/core/stable-json.ts';
import {
  makePlan,
  makeRecord,
  type RecordOptions,
  row,
  runEvents,
  sessionEvents,
  twice,
  verdictOf,
} from './record.ts';

test('counters that contradict themselves make the measurement invalid', () => {
  const verdict = verdictOf(
    makeRecord({
      answer: ({ arm, prompt }) =>
        arm === 'fast' && prompt === 'prose-3-2' ? { counters: { lookups: 801 } } : {},
    }),
  );
  expect(verdict.exitCode).toBe(5);
  expect(verdict.warnings[0]).toMatchInlineSnapshot(
    `"counters contradict themselves in 1 window: b3.p2.fast prose prose-3-2: lookups = hit + pcie + cpu + file + skipped: 801 ≠ 800; lookups = rows × MoE layers × top-k: 801 ≠ 800"`,
  );
});

test('the counting rule of the engine decides which identities hold', () => {
  const subset: RecordOptions = {
    answer: () => ({ counters: { bySource: { hit: 300, pcie: 0, cpu: 500, file: 100, skipped: 0 } } }),
  };
  expect(verdictOf(makeRecord(subset)).exitCode).toBe(5);
  const declared: RecordOptions = {
    ...subset,
    arm: () => ({ counting: { file: 'subset', unit: 'lookup' } }),
  };
  expect(verdictOf(makeRecord(declared)).exitCode).toBe(0);
});

test('more than the ceiling is never hidden', () => {
  const verdict = verdictOf(makeRecord({ ...twice, ceilings: [2e6, 1e9] }));
  expect(row(verdict, 'fast').ceilingShare).toBeGreaterThan(1);
  expect(verdict.warnings.filter((text) => text.includes('impossible'))).toMatchInlineSnapshot(`
    [
      "more than the ceiling is impossible: the subject fits a cache or the ceiling was mismeasured: base prose 714 %, fast prose 1436 %",
    ]
  `);
});

test('what the reader must know: foreign load, warm-ups, flags, cache, memory', () => {
  const verdict = verdictOf(
    makeRecord({
      steady: (run) => run !== 'b1.p1.base',
      weightBytes: 10e6,
      machine: { lastLevelCacheBytes: 32e6 },
      answer: ({ block, arm }) => ({
        foreignCpuShare: block === 2 ? 0.3 : arm === 'fast' && block === 3 ? null : 0.01,
        flags: block === 4 ? ['foreign CPU load', 'the wall clock stepped'] : [],
      }),
    }),
  );
  expect(verdict.warnings).toMatchInlineSnapshot(`
    [
      "other programs used more than 10 % of all cores in 4 of 16 windows, at most 30 %: b2.p1.base prose prose-2-1, b2.p1.base prose prose-2-2, b2.p2.fast prose prose-2-1 and 1 more",
      "foreign load is unknown in 2 of 16 windows",
      "the wall clock stepped in 4 windows: b4.p1.base prose prose-4-1, b4.p1.base prose prose-4-2, b4.p2.fast prose prose-4-1 and 1 more",
      "not steady when measured in 1 of 8 runs: b1.p1.base (the cap)",
      "measured on the host device: host numbers are not GPU numbers",
      "the weights (10.0 MB) fit the last-level cache (32.0 MB): not a memory-bandwidth result",
    ]
  `);
});

test('weights that stand for no real ones are told in the head and beside the table, with what was assumed', () => {
  const speed = 'synthetic subject: speed only';
  const all = verdictOf(makeRecord({ subject: () => speed }));
  expect([all.subject, all.warnings.at(-1)]).toEqual([speed, `${speed} (base, fast)`]);
  const one = verdictOf(
    makeRecord({ subject: (arm) => (arm === 'fast' ? `${speed}, acceptance assumed` : speed) }),
  );
  expect([one.subject, ...one.warnings.slice(-2)]).toEqual([
    `${speed} + ${speed}, acceptance assumed`,
    `${speed} (base)`,
    `${speed}, acceptance assumed (fast)`,
  ]);
  expect(verdictOf(makeRecord())).not.toHaveProperty('subject');
});

/** The record with one run taken out and others put in its place. */
function withRun(
  id: string,
  replace: (plan: Plan, events: JournalEvent[]) => JournalEvent[],
): { plan: Plan; events: JournalEvent[] } {
  const plan = makePlan(twice);
  const events = plan.runs.flatMap((run) => {
    const own = runEvents(plan, run, twice);
    return run.id === id ? replace(plan, own) : own;
  });
  return { plan, events: [...sessionEvents(twice), ...events] };
}

function isEnd(event: JournalEvent): boolean {
  return event.type === 'run_end';
}

const voided = (events: JournalEvent[]): JournalEvent[] =>
  events.map((event) =>
    event.type === 'run_end' ? { ...event, status: 'void', reason: 'crashed with signal 11' } : event,
  );

test('a void run is excluded, named, and makes the measurement incomplete', () => {
  const verdict = verdictOf(withRun('b2.p2.fast', (_, events) => voided(events)));
  expect(verdict).toMatchObject({ complete: false, exitCode: 3 });
  expect(row(verdict, 'fast').blocks).toBe(3);
  expect(verdict.runs.filter((run) => run.status !== 'ok')).toEqual([{ id: 'b2.p2.fast', status: 'void' }]);
  expect(verdict.warnings).toContain('b2.p2.fast is void: crashed with signal 11');
});

test('a run that was repeated counts once, by its latest good attempt', () => {
  const again = withRun('b2.p2.fast', (_, events) => [...voided(events), ...events]);
  expect(verdictOf(again)).toMatchObject({ complete: true, exitCode: 0 });
  expect(row(verdictOf(again), 'fast')).toEqual(row(verdictOf(makeRecord(twice)), 'fast'));
});

test('a run that was never started is missing; one that breaks off is void', () => {
  const missing = verdictOf(withRun('b4.p1.base', () => []));
  expect(missing.runs.find((run) => run.id === 'b4.p1.base')?.status).toBe('missing');
  expect(missing.warnings).toContain('b4.p1.base was never run');
  const broken = verdictOf(withRun('b4.p1.base', (_, events) => events.filter((event) => !isEnd(event))));
  expect(broken.runs.find((run) => run.id === 'b4.p1.base')?.status).toBe('void');
  expect(broken.exitCode).toBe(3);
});

test('what a killed session left open does not leak into the next one', () => {
  const plan = makePlan({ blocks: 1 });
  const [first, second] = plan.runs;
  if (first === undefined || second === undefined) throw new Error('two runs are planned');
  const open = runEvents(plan, first).filter((event) => !isEnd(event));
  const events = [
    ...sessionEvents(),
    ...open,
    ...sessionEvents({}, true),
    ...runEvents(plan, first, {}, 2),
    ...runEvents(plan, second),
  ];
  const verdict = verdictOf({ plan, events });
  expect(verdict.complete).toBe(true);
  expect(row(verdict, 'base').passes).toBe(80);
  expect(verdict.warnings).toContain('measured in 2 sessions');
  const orphan = open.filter((event) => event.type === 'window').slice(0, 1);
  expect(() =>
    verdictOf({ plan, events: [...sessionEvents(), ...open, ...sessionEvents({}, true), ...orphan] }),
  ).toThrow(InvalidRecordError);
});

test('a journal that contradicts its plan is refused', () => {
  const record = makeRecord();
  const [start] = record.events.filter((event) => event.type === 'run_start');
  if (start === undefined) throw new Error('a run has started');
  const unknown = { plan: record.plan, events: [{ ...start, run: 'b9.p9.none' }] };
  expect(() => verdictOf(unknown)).toThrowErrorMatchingInlineSnapshot(
    `[InvalidRecordError: the journal has a run b9.p9.none of arm base, which the plan does not have]`,
  );
});

test('the same record gives the same bytes, and no unknown number is written as a number', () => {
  const text = stableJson(verdictOf(makeRecord(twice)));
  const again: { plan: Plan; events: JournalEvent[] } = JSON.parse(JSON.stringify(makeRecord(twice)));
  expect(stableJson(verdictOf(again))).toBe(text);
  expect(text).not.toMatch(/NaN|Infinity/);
});
