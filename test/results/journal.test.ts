// The journal: appended, chained, mended after a crash, and never believed after a change.

import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InvalidRecordError } from '../../src/core/errors.ts';
import type { JournalEvent } from '../../src/core/records/journal.ts';
import { openJournal, readJournal } from '../../src/results/journal.ts';
import { createRunFolder, type RunFolder } from '../../src/results/run-folder.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { interrupted, PLAN } from './helpers.ts';

function withJournal(folder: string, signals: readonly string[]): RunFolder {
  const run = createRunFolder(folder, PLAN, 'abc123');
  using journal = openJournal(run);
  for (const signal of signals) journal.append(interrupted(signal));
  journal.sync();
  return run;
}

const signalsOf = (events: readonly JournalEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'interrupted' ? [event.signal] : []));

test('what is appended is read back, over several sessions', () => {
  using folder = temporaryFolder();
  const run = withJournal(folder.path, ['a', 'b']);
  {
    using again = openJournal(run);
    expect(signalsOf(again.events)).toEqual(['a', 'b']);
    again.append(interrupted('c "quoted" 语\n'));
    expect(again.tornBytes).toBe(0);
  }
  const { events, tornBytes, sha256 } = readJournal(run);
  expect(signalsOf(events)).toEqual(['a', 'b', 'c "quoted" 语\n']);
  expect(events[0]).toEqual(interrupted('a'));
  expect(tornBytes).toBe(0);
  expect(sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(readFileSync(run.journal, 'utf8').split('\n')).toHaveLength(4);
});

test('a journal that was cut anywhere goes on after its last whole line', () => {
  using folder = temporaryFolder();
  const run = withJournal(folder.path, ['one', 'two', 'three']);
  const whole = readFileSync(run.journal);
  const ends = [...whole.entries()].flatMap(([at, byte]) => (byte === 10 ? [at + 1] : []));
  for (let length = 0; length < whole.length; length++) {
    writeFileSync(run.journal, whole);
    writeFileSync(run.torn, '');
    truncateSync(run.journal, length);
    const kept = ends.filter((end) => end <= length);
    const torn = length - (kept.at(-1) ?? 0);
    expect(readJournal(run).tornBytes).toBe(torn);
    expect(statSync(run.journal).size).toBe(length);
    {
      using journal = openJournal(run);
      expect(journal.tornBytes).toBe(torn);
      journal.append(interrupted('next'));
    }
    expect(signalsOf(readJournal(run).events)).toEqual([
      ...['one', 'two', 'three'].slice(0, kept.length),
      'next',
    ]);
    expect(readFileSync(run.torn)).toEqual(whole.subarray(length - torn, length));
  }
});

test('any other byte anywhere is noticed', () => {
  using folder = temporaryFolder();
  const run = withJournal(folder.path, ['one', 'two', 'three']);
  const whole = readFileSync(run.journal);
  fc.assert(
    fc.property(fc.nat(whole.length - 2), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const altered = Buffer.from(whole);
      altered[at] = (altered[at] ?? 0) ^ change;
      writeFileSync(run.journal, altered);
      expect(() => readJournal(run)).toThrow(InvalidRecordError);
    }),
  );
});

test('a line that is taken out, doubled or moved is noticed, and so is another plan', () => {
  using folder = temporaryFolder();
  const run = withJournal(folder.path, ['one', 'two', 'three']);
  const [a = '', b = '', c = ''] = readFileSync(run.journal, 'utf8').split('\n');
  for (const lines of [
    [b, c],
    [a, c],
    [a, a, b, c],
    [b, a, c],
  ]) {
    writeFileSync(run.journal, lines.map((line) => `${line}\n`).join(''));
    expect(() => readJournal(run)).toThrow(InvalidRecordError);
  }
  writeFileSync(run.journal, `${a}\n${b}\n`);
  expect(readJournal(run).events).toHaveLength(2);
  appendFileSync(run.plan, ' ');
  expect(() => readJournal(run)).toThrow(
    'journal.jsonl:1: the hash does not match: the record was altered after it was written',
  );
});

test('a number that is not known cannot be written as NaN', () => {
  using folder = temporaryFolder();
  const run = withJournal(folder.path, []);
  using journal = openJournal(run);
  const event: JournalEvent = {
    type: 'ceiling',
    utc: 'x',
    when: 'before',
    memoryReadBytesPerSec: Number.NaN,
    fileReadBytesPerSec: null,
    raw: null,
  };
  expect(() => journal.append(event)).toThrow('NaN');
  expect(readFileSync(run.journal, 'utf8')).toBe('');
});
