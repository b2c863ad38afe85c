// The committed records of real engines: each gives the same verdict and the same reports again, and none can be altered unseen.

import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { htmlReport } from '../../src/report/html/page.ts';
import { jsonReport } from '../../src/report/json.ts';
import { markdownReport } from '../../src/report/markdown.ts';
import { readRun, readVerdict } from '../../src/results/read.ts';
import { runFolder } from '../../src/results/run-folder.ts';
import { deriveVerdict } from '../../src/run/verdict-file.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { altered } from '../results/altered.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const REFERENCE = join(ROOT, 'results', 'reference');
const NAMES = readdirSync(REFERENCE);

const report = (folder: string, ...words: string[]) =>
  execa(process.execPath, [join(ROOT, 'bin/rota.js'), 'report', folder, ...words], { reject: false });

/** With one of its digits, at that share of all, turned into another. */
function otherDigit(text: string, share: number): string {
  const digits = [...text.matchAll(/\d/g)].map(({ index }) => index);
  const at = digits[Math.floor(share * digits.length)] ?? 0;
  return `${text.slice(0, at)}${(Number(text[at]) + 1) % 10}${text.slice(at + 1)}`;
}

const spaced = (text: string): string => text.replace(/\s+/g, ' ');

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };

/** What a reader of a page sees. */
const seenOnPage = (html: string): string =>
  spaced(
    html
      .replace(/<[^>]*>/g, ' ')
      .replace(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => ENTITIES[name] ?? ''),
  );

/** Without the escapes of its special characters. */
const seenInMarkdown = (text: string): string => spaced(text.replace(/\\([^\w\s])/g, '$1'));

test('there are some', () => {
  expect(NAMES.length).toBeGreaterThan(0);
});

describe.each(NAMES)('%s', (name) => {
  const folder = runFolder(join(REFERENCE, name));

  test('gives its whole verdict again, byte for byte', async () => {
    using copy = temporaryFolder();
    const own = join(copy.path, name);
    cpSync(folder.path, own, { recursive: true });
    const recomputed = await report(own, '--recompute', '--json');
    expect([recomputed.exitCode, recomputed.stderr]).toEqual([0, '']);
    expect(readFileSync(join(own, 'verdict.json'))).toEqual(readFileSync(folder.verdict));
    expect(readVerdict(folder)?.complete).toBe(true);
  });

  test('its page, its Markdown and its JSON say the same', () => {
    const { plan, journal } = readRun(folder);
    const verdict = deriveVerdict(folder);
    const json = JSON.parse(jsonReport(verdict));
    const markdown = markdownReport(plan, verdict);
    expect(markdownReport(plan, json)).toBe(markdown);
    const page = htmlReport(plan, verdict, journal.events);
    expect(page).toContain('id="timeline"');
    expect(json.arms).toHaveLength(plan.arms.length * plan.workloads.length);
    const [told, shown] = [seenInMarkdown(markdown), seenOnPage(page)];
    const lines: string[] = [
      ...verdict.arms.flatMap(({ arm, line }) => (arm === plan.baseline ? [] : [line])),
      ...verdict.headlines.map(({ line }) => line),
      ...verdict.warnings,
    ];
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      expect(told).toContain(spaced(line));
      expect(shown).toContain(spaced(line));
    }
  });

  test('one digit of its journal or one byte of a ledger, wherever it stands, and recompute says 5', async () => {
    using copy = temporaryFolder();
    const own = join(copy.path, name);
    cpSync(folder.path, own, { recursive: true });
    const invalid = async (what: string): Promise<void> => {
      const { exitCode, stderr } = await report(own, '--recompute', '--json');
      expect([what, exitCode, stderr.split('\n').length]).toEqual([what, 5, 1]);
    };
    const { journal } = runFolder(own);
    const good = readFileSync(journal, 'utf8');
    for (const share of [0.01, 0.3, 0.6, 0.999]) {
      using _ = altered(journal, (text) => otherDigit(text, share));
      await invalid(`digit at ${share}`);
    }
    expect(readFileSync(journal, 'utf8')).toBe(good);
    const ledgers = existsSync(join(own, 'ledger')) ? readdirSync(join(own, 'ledger')) : [];
    for (const ledger of ledgers.slice(0, 1)) {
      const file = join(own, 'ledger', ledger);
      const bytes = readFileSync(file);
      const other = Buffer.from(bytes);
      other[40] = (other[40] ?? 0) ^ 1;
      writeFileSync(file, other);
      await invalid(ledger);
      writeFileSync(file, bytes);
    }
    expect((await report(own, '--recompute')).exitCode).toBe(0);
  });
});
