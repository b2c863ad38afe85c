// verdict.json: derived, and made again byte for byte or not at all.

import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { EXIT, InvalidRecordError } from '../../src/core/errors.ts';
import { recomputeVerdict, writeVerdict } from '../../src/run/verdict-file.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { altered } from '../results/altered.ts';
import { type FakeRun, runFakes } from './helpers/fake-session.ts';

vi.setConfig({ hookTimeout: 60_000 });

let folder: ReturnType<typeof temporaryFolder>;
let run: FakeRun;
beforeAll(async () => {
  folder = temporaryFolder();
  run = await runFakes(folder.path, { a: {}, b: { rate: 1900 } });
});
afterAll(() => folder[Symbol.dispose]());

function errorOf(work: () => unknown): InvalidRecordError {
  try {
    work();
  } catch (error) {
    if (error instanceof InvalidRecordError) return error;
    throw error;
  }
  throw new Error('nothing was wrong');
}

test('a lost verdict is made again, the same to the byte', () => {
  const bytes = readFileSync(run.folder.verdict, 'utf8');
  rmSync(run.folder.verdict);
  expect(recomputeVerdict(run.folder)).toEqual(run.verdict);
  expect(readFileSync(run.folder.verdict, 'utf8')).toBe(bytes);
});

test('a verdict that says something else than the journal is refused and left as it is', () => {
  const bytes = readFileSync(run.folder.verdict, 'utf8');
  writeFileSync(run.folder.verdict, bytes.replace('"complete": true', '"complete": false'));
  const error = errorOf(() => recomputeVerdict(run.folder));
  expect(error.message).toContain('does not follow from the journal');
  expect(error.exitCode).toBe(EXIT.invalid);
  expect(readFileSync(run.folder.verdict, 'utf8')).toContain('"complete": false');
  writeVerdict(run.folder);
  expect(readFileSync(run.folder.verdict, 'utf8')).toBe(bytes);
});

test('an altered journal gives no verdict', () => {
  {
    using _ = altered(run.folder.journal, (text) => text.replace(/"decodeMs":[\d.]+/, '"decodeMs":1'));
    expect(errorOf(() => recomputeVerdict(run.folder)).message).toContain('altered after it was written');
  }
  const plan = readFileSync(run.folder.plan, 'utf8');
  appendFileSync(run.folder.plan, '\n');
  expect(errorOf(() => recomputeVerdict(run.folder)).message).toContain('altered after it was written');
  writeFileSync(run.folder.plan, plan);
  expect(recomputeVerdict(run.folder).complete).toBe(true);
});
