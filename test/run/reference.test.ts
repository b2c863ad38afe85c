// The committed records of real engines: each gives the same reports again, and none can be altered unseen.

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { htmlReport } from '../../src/report/html/page.ts';
import { jsonReport } from '../../src/report/json.ts';
import { markdownReport } from '../../src/report/markdown.ts';
import { readRun } from '../../src/results/read.ts';
import { runFolder } from '../../src/results/run-folder.ts';
import { deriveVerdict } from '../../src/run/verdict-file.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const REFERENCE = join(ROOT, 'results', 'reference');
const NAMES = readdirSync(REFERENCE);

const recompute = (folder: string) =>
  execa(process.execPath, [join(ROOT, 'bin/rota.js'), 'report', folder, '--recompute', '--json'], {
    reject: false,
  });

/** With one of its digits, at that share of all, turned into another. */
function altered(text: string, share: number): string {
  const digits = [...text.matchAll(/\d/g)].map(({ index }) => index);
  const at = digits[Math.floor(share * digits.length)] ?? 0;
  return `${text.slice(0, at)}${(Number(text[at]) + 1) % 10}${text.slice(at + 1)}`;
}

test('there are some', () => {
  expect(NAMES.length).toBeGreaterThan(0);
});

describe.each(NAMES)('%s', (name) => {
  test('gives a whole verdict and its reports', () => {
    const folder = runFolder(join(REFERENCE, name));
    const { plan, journal } = readRun(folder);
    const verdict = deriveVerdict(folder);
    expect(verdict.complete).toBe(true);
    const row = (arm: string) => verdict.arms.find((each) => each.arm === arm);
    // Where experts lie changes nothing that is said, nor does being stopped now and then; a bent router does.
    const exact = ['ram', 'slow'].filter((arm) => row(arm) !== undefined);
    expect(exact).toHaveLength(1);
    for (const arm of exact) {
      expect(row(arm)).toMatchObject({ output: 'L0', evidence: { differing: 0 } });
      expect(row(arm)?.evidence?.score).toMatchObject({ perplexityRatio: 1, sameTop1: 1 });
    }
    if (row('bias') !== undefined) expect(row('bias')?.evidence?.score).not.toBeNull();
    expect(htmlReport(plan, verdict, journal.events)).toContain('id="timeline"');
    expect(markdownReport(plan, JSON.parse(jsonReport(verdict)))).toBe(markdownReport(plan, verdict));
    expect(verdict.bounds?.every(({ line }) => line.includes(' % of a pass'))).toBe(true);
  });

  test('one digit of its journal or one byte of a ledger, wherever it stands, and recompute says 5', async () => {
    using copy = temporaryFolder();
    const folder = join(copy.path, name);
    cpSync(join(REFERENCE, name), folder, { recursive: true });
    // Made again from the journal: the committed one may be of an older rota.
    rmSync(join(folder, 'verdict.json'), { force: true });
    expect((await recompute(folder)).exitCode).toBe(0);
    expect((await recompute(folder)).exitCode).toBe(0);
    const invalid = async (what: string): Promise<void> => {
      const { exitCode, stderr } = await recompute(folder);
      expect([what, exitCode, stderr.split('\n').length]).toEqual([what, 5, 1]);
    };
    const journal = join(folder, 'journal.jsonl');
    const good = readFileSync(journal, 'utf8');
    for (const share of [0.01, 0.3, 0.6, 0.999]) {
      writeFileSync(journal, altered(good, share));
      await invalid(`digit at ${share}`);
    }
    writeFileSync(journal, good);
    const ledgers = existsSync(join(folder, 'ledger')) ? readdirSync(join(folder, 'ledger')) : [];
    for (const ledger of ledgers.slice(0, 1)) {
      const file = join(folder, 'ledger', ledger);
      const bytes = readFileSync(file);
      writeFileSync(
        file,
        Buffer.concat([bytes.subarray(0, 40), Buffer.from([(bytes[40] ?? 0) ^ 1]), bytes.subarray(41)]),
      );
      await invalid(ledger);
      writeFileSync(file, bytes);
    }
    expect((await recompute(folder)).exitCode).toBe(0);
  });
});
