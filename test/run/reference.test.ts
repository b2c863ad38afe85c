import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { htmlReport } from '../../src/report/html/page.ts';
import { readRun } from '../../src/results/read.ts';
import { runFolder } from '../../src/results/run-folder.ts';
import { deriveVerdict } from '../../src/run/verdict-file.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const REFERENCE = join(ROOT, 'results', 'reference');
const NAMES = readdirSync(REFERENCE).filter((name) => name.includes('quick-look'));

const recompute = (folder: string) =>
  execa(process.execPath, [join(ROOT, 'bin/rota.js'), 'report', folder, '--recompute', '--json'], {
    reject: false,
  });

test('a committed record of a real engine gives a whole verdict and page', () => {
  expect(NAMES).toHaveLength(1);
  const folder = runFolder(join(REFERENCE, NAMES[0] ?? ''));
  const { plan, journal } = readRun(folder);
  const verdict = deriveVerdict(folder);
  expect(verdict.complete).toBe(true);
  const row = (arm: string) => verdict.arms.find((each) => each.arm === arm);
  // Where experts lie changes nothing that is said; a bent router does.
  expect(row('ram')).toMatchObject({ output: 'L0', evidence: { differing: 0 } });
  expect(row('ram')?.evidence?.score).toMatchObject({ perplexityRatio: 1, sameTop1: 1 });
  expect(row('bias')?.evidence?.score).not.toBeNull();
  expect(htmlReport(plan, verdict, journal.events)).toContain('id="timeline"');
});

test('one digit of its journal, wherever it stands, and recompute says 5', async () => {
  using copy = temporaryFolder();
  const folder = join(copy.path, NAMES[0] ?? '');
  cpSync(join(REFERENCE, NAMES[0] ?? ''), folder, { recursive: true });
  // Made again from the journal: the committed one may be of an older rota.
  rmSync(join(folder, 'verdict.json'), { force: true });
  expect((await recompute(folder)).exitCode).toBe(0);
  expect((await recompute(folder)).exitCode).toBe(0);
  const journal = join(folder, 'journal.jsonl');
  const good = readFileSync(journal, 'utf8');
  const digits = [...good.matchAll(/\d/g)].map(({ index }) => index);
  for (const share of [0.01, 0.3, 0.6, 0.999]) {
    const at = digits[Math.floor(share * digits.length)] ?? 0;
    writeFileSync(journal, `${good.slice(0, at)}${(Number(good[at]) + 1) % 10}${good.slice(at + 1)}`);
    const { exitCode, stderr } = await recompute(folder);
    expect([share, exitCode, stderr.split('\n').length]).toEqual([share, 5, 1]);
  }
  writeFileSync(journal, good);
  expect((await recompute(folder)).exitCode).toBe(0);
});
