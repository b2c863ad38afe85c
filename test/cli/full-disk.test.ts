// A disk that is full or fails under Rota's own record, by real processes: one line that says which file and how to go on, exit 3, no
// engine left, and nothing that was measured is lost.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSwitch, type Fault, suffering } from '../native/helpers/faults.ts';
import { type Bench, createBench } from './helpers/rota.ts';
import { journalNow, processesNaming } from './helpers/signalled.ts';

// Starting processes takes many times as long on a machine that compiles beside.
vi.setConfig({ testTimeout: 120_000 });

const SHARE = '--share-machine';
const FULL = 'no space is left: free some, then rota resume';

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

const runFolders = (): string[] =>
  existsSync(bench.path('results')) ? readdirSync(bench.path('results')) : [];

function fileOfRun(name: string): string {
  return path.join(bench.path('results'), runFolders().at(-1) ?? '', name);
}

/** Runs until the disk says no; gives its last line. */
async function failing(...faults: Fault[]): Promise<string | undefined> {
  const { exitCode, stderr } = await bench.rotaWith(suffering(...faults), 'run', 'tiny.yaml', SHARE);
  expect(exitCode).toBe(3);
  expect(processesNaming(bench.folder)).toEqual([]);
  return stderr.split('\n').at(-1);
}

const finishedRuns = (journal: string): number => journal.match(/"status":"ok"/g)?.length ?? 0;

/** With room again: every line that was there still is, and no finished run is run twice. */
async function expectResumed(): Promise<void> {
  const before = journalNow(bench);
  expect(before === '' || before.endsWith('\n')).toBe(true);
  const { exitCode, stderr } = await bench.rota('resume', 'latest', SHARE);
  expect([exitCode, stderr]).toEqual([
    0,
    expect.stringContaining(`${4 - finishedRuns(before)} of 4 runs are left`),
  ]);
  expect(stderr).not.toContain('journal.torn');
  const after = journalNow(bench);
  expect(after.startsWith(before)).toBe(true);
  expect(finishedRuns(after)).toBe(4);
  expect((await bench.rota('report', 'latest', '--recompute')).exitCode).toBe(0);
}

describe('journal.jsonl', () => {
  // A whole run of this protocol writes some 40 000 bytes.
  it.each([0, 9_000, 30_000])(
    'with room for %i bytes keeps its whole lines, and a resume goes on',
    async (room) => {
      const line = await failing(['write', { path: 'journal.jsonl', room }]);
      expect(line).toBe(`rota: cannot write ${fileOfRun('journal.jsonl')}: ${FULL}`);
      if (room > 10_000) expect(finishedRuns(journalNow(bench))).toBeGreaterThan(0);
      await expectResumed();
    },
  );

  it('that has no room for one moment ends the session all the same, without a half line in its middle', async () => {
    // Node asks a second time before it believes a refusal.
    const line = await failing(['write', { path: 'journal.jsonl', room: 9_000, times: 2 }]);
    expect(line).toBe(`rota: cannot write ${fileOfRun('journal.jsonl')}: ${FULL}`);
    expect(journalNow(bench)).not.toContain('cannot write');
    await expectResumed();
  });

  it('that a failing disk does not take ends the session', async () => {
    const line = await failing(['sync', { path: 'journal.jsonl', skip: 4 }]);
    expect(line).toBe(`rota: cannot write ${fileOfRun('journal.jsonl')}: the disk reports an error`);
    await expectResumed();
  });
});

it('a disk that is full for everything at once is still one line', async () => {
  const full = createSwitch(bench.folder);
  const running = bench.rotaWith(
    suffering(['write', { path: '/results/', room: 0, when: full.file }]),
    ...['run', 'tiny.yaml', SHARE],
  );
  while (!/"kind":"measure"/.test(journalNow(bench))) await new Promise((resolve) => setTimeout(resolve, 5));
  full.on();
  const { exitCode, stderr } = await running;
  expect([exitCode, stderr.split('\n').at(-1)]).toEqual([
    3,
    expect.stringMatching(/^rota: cannot write \S+jsonl: no space/),
  ]);
  await expectResumed();
});

it('no room for the samples ends the session, and half a sample does not stay', async () => {
  const line = await failing(['write', { path: 'telemetry.jsonl', room: 3_000 }]);
  expect(line).toBe(`rota: cannot write ${fileOfRun('telemetry.jsonl')}: ${FULL}`);
  const samples = readFileSync(fileOfRun('telemetry.jsonl'), 'utf8').split('\n');
  expect(samples.pop()).toBe('');
  expect(() => samples.map((sample) => JSON.parse(sample))).not.toThrow();
  await expectResumed();
});

it('no room for the verdict leaves none, and it is made from the journal when there is', async () => {
  const line = await failing(['write', { path: 'verdict.json', room: 100 }]);
  expect(line).toBe(`rota: cannot write ${fileOfRun('verdict.json')}: ${FULL}`);
  expect(readdirSync(path.dirname(fileOfRun('x'))).filter((name) => name.startsWith('verdict'))).toEqual([]);
  await expectResumed();
});

it('no room for the plan leaves no run', async () => {
  const line = await failing(['write', { path: 'plan.json', room: 100 }]);
  expect(line).toMatch(
    /^rota: cannot write \S+plan\.json: no space is left: free some, then start it again, or pass --results$/,
  );
  expect(runFolders()).toEqual([]);
  expect((await bench.rota('run', 'tiny.yaml', SHARE)).exitCode).toBe(0);
});
