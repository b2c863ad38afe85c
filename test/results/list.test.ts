// The list of runs, and finding one by what a user types.

import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { UserError } from '../../src/core/errors.ts';
import type { Verdict } from '../../src/core/records/verdict.ts';
import { stableJson } from '../../src/core/stable-json.ts';
import { findRun, listRuns } from '../../src/results/list.ts';
import { createRunFolder } from '../../src/results/run-folder.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { PLAN } from './helpers.ts';

const VERDICT: Verdict = {
  schemaVersion: 1,
  protocol: 'first-light',
  runFolder: 'x',
  device: 'host',
  baseline: 'base',
  complete: true,
  exitCode: 0,
  runs: [{ id: 'b1.p1.base', status: 'ok' }],
  decisions: [],
  executed: ['b1.p1.base'],
  arms: [],
  headlines: [],
  components: [],
  ceilings: { memoryReadBytesPerSec: null, fileReadBytesPerSec: null },
  warnings: [],
  journalSha256: 'x',
};

function three(results: string): void {
  createRunFolder(results, { ...PLAN, createdUtc: '2026-01-01T00:00:00.000Z' }, 'aaaaaa');
  const done = createRunFolder(results, { ...PLAN, createdUtc: '2026-01-02T00:00:00.000Z' }, 'bbbbbb');
  writeFileSync(done.verdict, stableJson(VERDICT));
  const broken = createRunFolder(results, { ...PLAN, createdUtc: '2026-01-03T00:00:00.000Z' }, 'cccccc');
  writeFileSync(broken.plan, '{');
  mkdirSync(path.join(results, 'reference', 'x'), { recursive: true });
  mkdirSync(path.join(results, 'no-run'));
}

test('runs in the order of time, with their state', () => {
  using folder = temporaryFolder();
  three(folder.path);
  expect(listRuns(folder.path).map(({ folder: { name }, state, device }) => [name, state, device])).toEqual([
    ['2026-01-01T000000Z-first-light-aaaaaa', 'unfinished', null],
    ['2026-01-02T000000Z-first-light-bbbbbb', 'complete', 'host'],
    ['2026-01-03T000000Z-first-light-cccccc', 'unreadable', null],
  ]);
  expect(listRuns(path.join(folder.path, 'none'))).toEqual([]);
});

test.each([
  ['latest', 'cccccc'],
  ['2026-01-02T000000Z-first-light-bbbbbb', 'bbbbbb'],
  ['2026-01-01', 'aaaaaa'],
  ['bbbbbb', 'bbbbbb'],
])('%s names a run', (word, id) => {
  using folder = temporaryFolder();
  three(folder.path);
  expect(findRun(folder.path, word).name).toContain(id);
});

test('a path names a run wherever it lies', () => {
  using folder = temporaryFolder();
  three(folder.path);
  const elsewhere = path.join(folder.path, 'elsewhere');
  cpSync(findRun(folder.path, 'bbbbbb').path, elsewhere, { recursive: true });
  expect(findRun('/no/results', elsewhere).path).toBe(elsewhere);
});

test('an unknown or ambiguous word says what there is', () => {
  using folder = temporaryFolder();
  const errorOf = (word: string): UserError | undefined => {
    try {
      findRun(folder.path, word);
    } catch (error) {
      if (error instanceof UserError) return error;
    }
    return undefined;
  };
  expect(errorOf('latest')?.message).toBe('there are no results yet');
  three(folder.path);
  expect(errorOf('2026-02')?.message).toBe('there is no run "2026-02"');
  expect(errorOf('2026')?.message).toBe('"2026" fits 3 runs');
  expect(errorOf('2026')?.hint).toContain('2026-01-03T000000Z-first-light-cccccc');
});

test('a thousand runs are listed in less than two seconds', () => {
  using folder = temporaryFolder();
  const first = createRunFolder(folder.path, bigPlan(), '000000');
  writeFileSync(
    first.verdict,
    stableJson({ ...VERDICT, warnings: Array.from({ length: 40 }, () => 'w'.repeat(100)) }),
  );
  for (let i = 1; i < 1000; i++) {
    const copy = path.join(folder.path, first.name.replace(/000000$/, String(i).padStart(6, '0')));
    mkdirSync(copy);
    for (const name of ['plan.json', 'verdict.json'])
      cpSync(path.join(first.path, name), path.join(copy, name));
  }
  const begin = performance.now();
  expect(listRuns(folder.path)).toHaveLength(1000);
  expect(performance.now() - begin).toBeLessThan(2000);
});

/** As large as the plan of a real protocol: four arms, four blocks, three classes of 22 prompts. */
function bigPlan(): typeof PLAN {
  const prompts = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ id: `p${i}`, text: 'word '.repeat(60) }));
  const workload = {
    maxNew: 64,
    ignoreEos: true,
    promptsByBlock: Array.from({ length: 4 }, () => prompts(4)),
    warmupPrompts: prompts(6),
  };
  return { ...PLAN, workloads: ['a', 'b', 'c'].map((name) => ({ ...workload, class: name })) };
}
