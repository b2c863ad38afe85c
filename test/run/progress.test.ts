// What a watcher is told, and how long is left.

import { expect, test } from 'vitest';
import type { Clock } from '../../src/machine/clock.ts';
import { createProgressMeter, type Progress } from '../../src/run/progress.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { fakeProtocol, preparedPlan } from './helpers/fake-session.ts';

test('the time left is the mean of each arm for its runs, less what this run has taken', () => {
  using folder = temporaryFolder();
  const plan = {
    ...preparedPlan(fakeProtocol(folder.path, { a: {}, b: { rate: 9 } }, { blocks: 2 })),
    expectedMinutes: 4,
  };
  const [first, second] = plan.runs;
  if (first === undefined || second === undefined) throw new Error('no runs');
  let now = 0;
  const clock: Clock = { monotonicMs: () => now, wallMs: () => now, sleep: async () => {} };
  const told: Progress[] = [];
  const meter = createProgressMeter(plan, new Set(), clock, (progress) => told.push(progress));
  const eta = (): number | null | undefined => {
    meter.tell('measure', { class: 'code', tokPerSec: 5 });
    return told.at(-1)?.etaSeconds;
  };
  // Nothing has been measured: the plan's expectation, a minute a run.
  expect(eta()).toBe(240);
  meter.begin(first, 1);
  now = 10_000;
  expect(eta()).toBe(230);
  meter.end(first, true);
  // The other arm is expected to take as long as this one.
  expect(eta()).toBe(30);
  meter.begin(second, 2);
  now = 40_000;
  // It takes longer than expected; the rest is not negative.
  expect(eta()).toBe(0);
  expect(told.at(-1)).toMatchObject({
    arm: second.arm,
    block: 1,
    position: 2,
    positions: 2,
    attempt: 2,
    runsDone: 1,
  });
  meter.end(second, false);
  expect(eta()).toBe(30);
  meter.begin(second, 3);
  now = 60_000;
  meter.end(second, true);
  expect(eta()).toBe(30);
  expect(told.at(-1)).toMatchObject({ runsDone: 2, runsPlanned: 4, arm: second.arm });
  // An arm that is given up takes no more time.
  meter.giveUp(second.arm);
  expect(eta()).toBe(10);
});

test('what others spoil is run again, and a block to come is expected to lose as much', () => {
  using folder = temporaryFolder();
  const plan = preparedPlan(fakeProtocol(folder.path, { a: {}, b: { rate: 9 } }, { blocks: 4 }));
  const runsOf = (block: number) => plan.runs.filter((run) => run.block === block);
  let now = 0;
  const clock: Clock = { monotonicMs: () => now, wallMs: () => now, sleep: async () => {} };
  const told: Progress[] = [];
  const meter = createProgressMeter(plan, new Set(), clock, (progress) => told.push(progress));
  const eta = (): number | null | undefined => {
    meter.tell('stop');
    return told.at(-1)?.etaSeconds;
  };
  const run = (planned: (typeof plan.runs)[number] | undefined, seconds: number, isOk = true): void => {
    if (planned === undefined) throw new Error('no run');
    meter.begin(planned, 1);
    now += 1000 * seconds;
    meter.end(planned, isOk);
  };
  const [first, second] = runsOf(1);
  run(first, 10);
  expect(eta()).toBe(7 * 10);
  // Ended at its first disturbed window, and all of its block with it: 14 s are lost.
  run(second, 4, false);
  meter.again(runsOf(1));
  expect(told.at(-1)?.runsDone).toBe(1);
  expect(eta()).toBe(8 * 10 + 3 * 14);
  expect(told.at(-1)?.runsDone).toBe(0);
  run(first, 10);
  run(second, 10);
  expect(eta()).toBe(6 * 10 + 3 * 14);
  // A block that is left alone: two have lost 14 s between them.
  for (const each of runsOf(2)) run(each, 10);
  expect(eta()).toBe(4 * 10 + 2 * 7);
  for (const each of [...runsOf(3), ...runsOf(4)]) run(each, 10);
  expect(eta()).toBe(0);
});

test('without an expectation and before the first run the time left is not known', () => {
  using folder = temporaryFolder();
  const plan = {
    ...preparedPlan(fakeProtocol(folder.path, { a: {}, b: { rate: 9 } })),
    expectedMinutes: null,
  };
  const told: Progress[] = [];
  const clock: Clock = { monotonicMs: () => 0, wallMs: () => 0, sleep: async () => {} };
  createProgressMeter(plan, new Set(), clock, (progress) => told.push(progress)).tell('launch');
  expect(told[0]?.etaSeconds).toBeNull();
});
