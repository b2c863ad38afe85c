// Engines that fail or lie, through the real runner: the others go on, and the record says what happened.

import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { membersOf } from '../../src/machine/processes.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { eventsOf, type FakeRun, runFakes } from './helpers/fake-session.ts';

// Starting processes takes many times as long on a machine that compiles beside.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

function flagsOf(run: FakeRun, arm: string): string[] {
  const windows = eventsOf(run.events, 'window').filter((window) => window.run.endsWith(`.${arm}`));
  const measured = windows.filter(({ kind }) => kind === 'measure');
  return [...new Set(measured.flatMap(({ flags }) => flags))].filter((flag) => !flag.startsWith('foreign'));
}

function statusOf(run: FakeRun, arm: string): string[] {
  return run.verdict.runs.filter(({ id }) => id.endsWith(`.${arm}`)).map(({ status }) => status);
}

/** A good engine and one arm for each play, named after it, in one session. */
async function beside(
  plays: readonly string[],
  options: Parameters<typeof runFakes>[2] = {},
): Promise<FakeRun & Disposable> {
  const folder = temporaryFolder();
  const arms = Object.fromEntries(plays.map((play) => [play, { play }]));
  const run = await runFakes(folder.path, { good: { play: 'steady' }, ...arms }, options);
  return { ...run, [Symbol.dispose]: folder[Symbol.dispose] };
}

const VOID: Readonly<Record<string, string>> = {
  'crash-at-load': 'the engine ended while it should get ready: exit code 3',
  'crash-mid-request': 'the engine ended while it should generate: exit code 4',
  'half-line': 'the engine ended while it should generate: exit code 0',
  'double-done': 'the engine broke the protocol: request 1 was answered twice',
  refuses: 'the engine refused: context: 9000 prompt tokens do not fit 8192',
  'never-ready': 'not ready within 1.5 s',
  'half-ready': 'not ready within 1.5 s',
  'hang-stubborn': 'no answer within 0.5 s',
  'hang-mid-request': 'no answer within 0.5 s',
};

let failed: FakeRun & Disposable;
beforeAll(async () => {
  failed = await beside(Object.keys(VOID), { readyS: 1.5, session: { requestTimeoutMs: () => 500 } });
});
afterAll(() => failed[Symbol.dispose]());

test.each(Object.entries(VOID))('%s: void with its reason, tried twice, then left out', (play, reason) => {
  const starts = eventsOf(failed.events, 'run_start').filter(({ arm }) => arm === play);
  expect(starts.map(({ attempt }) => attempt)).toEqual([1, 2]);
  const ends = eventsOf(failed.events, 'run_end').filter(({ run }) => run.endsWith(`.${play}`));
  expect(ends.map((end) => [end.status, end.reason])).toEqual([
    ['void', reason],
    ['void', reason],
  ]);
  expect(ends[0]?.logTail.join('\n')).toContain(
    `fake engine ${play} starts`.slice(0, play === 'crash-mid-request' ? 0 : 99),
  );
  expect(statusOf(failed, play)).toEqual(['void']);
  const notes = failed.progress.flatMap(({ note }) => note ?? []);
  expect(notes).toContain(`${play} failed 2 times: it is left out from here on`);
});

test('beside nine arms that fail the good one is measured, and the exit code says that something is missing', () => {
  expect(statusOf(failed, 'good')).toEqual(['ok']);
  expect(failed.verdict.complete).toBe(false);
  expect(failed.verdict.exitCode).toBe(3);
});

test('nothing is left of engines that had to be killed', () => {
  for (const { pid, arm } of eventsOf(failed.events, 'run_start')) {
    expect([arm, ...membersOf({ group: pid, leash: 'none' })]).toEqual([arm]);
  }
});

test('an engine that dies when it is told to end was measured all the same, and the record says how it went', async () => {
  using run = await beside(['crash-at-stop']);
  expect(statusOf(run, 'crash-at-stop')).toEqual(['ok']);
  const ends = eventsOf(run.events, 'run_end').filter((end) => end.run.endsWith('.crash-at-stop'));
  expect(ends.map(({ exit }) => exit)).toEqual(['SIGSEGV']);
  expect(run.verdict.exitCode).toBe(0);
});

test('an arm that always fails is not started again in later blocks; one that failed once is repeated', async () => {
  using folder = temporaryFolder();
  const arms = { good: {}, bad: { play: 'crash-at-load' }, once: { play: 'crash-once' } };
  const run = await runFakes(folder.path, arms, { blocks: 2 });
  const starts = eventsOf(run.events, 'run_start');
  expect(starts.filter(({ arm }) => arm === 'bad')).toHaveLength(2);
  expect(starts.filter(({ arm }) => arm === 'once').map(({ block, attempt }) => [block, attempt])).toEqual([
    [1, 1],
    [1, 2],
    [2, 1],
  ]);
  expect(statusOf(run, 'once')).toEqual(['ok', 'ok']);
  expect(statusOf(run, 'bad').sort()).toEqual(['missing', 'void']);
});

test('a program that is not there stops everything before it begins', async () => {
  using folder = temporaryFolder();
  const run = runFakes(folder.path, { a: {}, b: { rate: 1 } }, { program: '/no/such/rota-engine' });
  await expect(run).rejects.toThrow('/no/such/rota-engine is missing or not executable: rota build fake');
});

test('engines that lie are measured and flagged; counters that contradict themselves make it invalid', async () => {
  using run = await beside(['lying-counters', 'zero-tokens', 'short-answers', 'not-a-number', 'flood']);
  expect(flagsOf(run, 'good')).toEqual([]);
  expect(flagsOf(run, 'lying-counters')).toEqual(['counters contradict themselves']);
  expect(flagsOf(run, 'zero-tokens')).toContain('no token came');
  expect(flagsOf(run, 'short-answers')).toEqual(['not the length that was asked for']);
  expect(flagsOf(run, 'not-a-number')).toEqual(['numbers that cannot be believed']);
  expect(flagsOf(run, 'flood')).toEqual(['unexpected output on stdout']);
  for (const arm of ['zero-tokens', 'not-a-number']) {
    const rates = run.verdict.arms.filter((row) => row.arm === arm).map(({ tokPerSec }) => tokPerSec);
    expect(rates).toEqual([null, null]);
  }
  expect(run.verdict.exitCode).toBe(5);
});

test('another model under the same path is flagged from the run on where it appears', async () => {
  using folder = temporaryFolder();
  const arms = { a: { play: 'other-weights' }, b: { play: 'other-weights', rate: 1900 } };
  const run = await runFakes(folder.path, arms);
  const flag = 'other weights than in the runs before';
  const flagged = eventsOf(run.events, 'window').filter(({ flags }) => flags.includes(flag));
  expect(new Set(flagged.map((window) => window.run))).toEqual(new Set([run.plan.runs[1]?.id]));
});

test('slow, jittery, stubborn and prolific engines are measured, and nothing of them is left', async () => {
  using run = await beside(['slow-start', 'jittery', 'stubborn', 'grandchildren', 'changed-output']);
  expect(run.verdict.exitCode).toBe(0);
  for (const { pid } of eventsOf(run.events, 'run_start')) {
    expect(membersOf({ group: pid, leash: 'none' })).toEqual([]);
  }
  const outputs = new Map(run.verdict.arms.map(({ arm, output }) => [arm, output]));
  expect(outputs.get('jittery')).toBe('L0');
  expect(outputs.get('changed-output')).toBe('L3');
  const loads = new Map(run.verdict.arms.map(({ arm, loadS }) => [arm, loadS ?? 0]));
  expect(loads.get('slow-start')).toBeGreaterThan(0.5);
});
