// Text that nobody adds to any more: the same again, smaller, and never believed after a change.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InvalidRecordError } from '../../src/core/errors.ts';
import { createRng } from '../../src/core/rng.ts';
import { openJournal, readJournal } from '../../src/results/journal.ts';
import { createRunFolder } from '../../src/results/run-folder.ts';
import { pack, readText, seal, sealedName, unpack, unseal } from '../../src/results/sealed.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { interrupted, PLAN } from './helpers.ts';

function outcomeOf<T>(step: () => T): T | Error {
  try {
    return step();
  } catch (error) {
    return error as Error;
  }
}

test('any lines come back; what repeats itself over megabytes takes its room once', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (lines) => {
      const text = Buffer.from(lines.map((line) => `${line}\n`).join(''));
      expect(unpack(pack(text), 'x').equals(text)).toBe(true);
    }),
  );
  const rng = createRng(1);
  const noise = Buffer.from(Array.from({ length: 200_000 }, () => 32 + rng.int(64)));
  const once = pack(noise).length;
  expect(pack(Buffer.concat([noise, Buffer.alloc(2 ** 20), noise])).length).toBeLessThan(once * 1.05);
  const huge = Buffer.from('a line of a journal\n'.repeat(500_000));
  expect(unpack(pack(huge), 'x').equals(huge)).toBe(true);
  expect(() => unpack(pack(Buffer.from('half a line')), 'x')).toThrow(InvalidRecordError);
});

test('sealed and unsealed, a file is where it was; a crash in between leaves the plain one to count', () => {
  using folder = temporaryFolder();
  const file = path.join(folder.path, 'journal.jsonl');
  seal(file);
  unseal(file);
  expect([readText(file), readdirSync(folder.path)]).toEqual([null, []]);
  writeFileSync(file, 'one\n');
  seal(file);
  expect(readdirSync(folder.path)).toEqual(['journal.jsonl.br']);
  expect(readText(file)?.toString()).toBe('one\n');
  // As a crash leaves it that came before the plain one was removed, or the sealed one after more was added.
  writeFileSync(file, 'one\ntwo\n');
  expect(readText(file)?.toString()).toBe('one\ntwo\n');
  unseal(file);
  expect([readdirSync(folder.path), readFileSync(file, 'utf8')]).toEqual([['journal.jsonl'], 'one\ntwo\n']);
});

test('a journal is the same sealed, goes on after it, and any other byte of it is noticed', () => {
  using folder = temporaryFolder();
  const run = createRunFolder(folder.path, PLAN, 'abc123');
  {
    using journal = openJournal(run);
    for (const signal of ['one', 'two']) journal.append(interrupted(signal));
  }
  const plain = readJournal(run);
  seal(run.journal);
  expect(readJournal(run)).toEqual(plain);
  const sealed = sealedName(run.journal);
  const whole = readFileSync(sealed);
  let noticed = 0;
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const other = Buffer.from(whole);
      other[at] = (other[at] ?? 0) ^ change;
      writeFileSync(sealed, other);
      const seen = outcomeOf(() => readJournal(run));
      // Another spelling of the same text is no other record; a text that ends earlier has another digest than the verdict knows.
      if (!(seen instanceof Error) && seen.sha256 === plain.sha256) expect(seen).toEqual(plain);
      else noticed++;
    }),
  );
  expect(noticed).toBeGreaterThan(90);
  writeFileSync(sealed, whole.subarray(0, whole.length - 1));
  expect(() => readJournal(run)).toThrow(
    'journal.jsonl.br: cannot be unpacked: the record was altered after it was written',
  );
  writeFileSync(sealed, whole);
  {
    using journal = openJournal(run);
    expect(journal.events).toEqual(plain.events);
    journal.append(interrupted('three'));
  }
  expect(readJournal(run).events).toHaveLength(3);
  expect([existsSync(sealed), existsSync(run.journal)]).toEqual([false, true]);
});
