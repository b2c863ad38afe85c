// Where logits lie while a scoring runs: gone after it, and what a killed Rota left is gone with the next.

import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { openScratch } from '../../src/run/score/scratch.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';

/** The largest that Linux gives. */
const NOBODY = 4_194_304;

test('a folder of its own, with what was in it gone at the end', () => {
  using folder = temporaryFolder();
  const parent = path.join(folder.path, 'a', 'b');
  {
    using scratch = openScratch(parent);
    writeFileSync(path.join(scratch.path, 'x.logits'), 'x');
    expect(path.dirname(scratch.path)).toBe(parent);
  }
  expect(readdirSync(parent)).toEqual([]);
});

test('what a dead one left is removed, what a living one uses and what is no scratch is not', () => {
  using folder = temporaryFolder();
  const names = [`.score-${NOBODY}-abc`, `.score-${process.pid}-abc`, '.score-notes', 'score-1-abc'];
  for (const name of names) mkdirSync(path.join(folder.path, name));
  writeFileSync(path.join(folder.path, names[0] ?? '', 'x.logits'), 'x');
  using scratch = openScratch(folder.path);
  expect(names.map((name) => existsSync(path.join(folder.path, name)))).toEqual([false, true, true, true]);
  expect(existsSync(scratch.path)).toBe(true);
});

test('more than there is room for is said before anything is written', () => {
  using folder = temporaryFolder();
  using scratch = openScratch(folder.path);
  scratch.need(1000, 'the logits of 2 windows');
  expect(() => scratch.need(1e18, 'the logits of 2 windows')).toThrow(
    /^the logits of 2 windows need 1000000000\.0 GB, .+ has [\d.]+ GB free; score fewer windows \(--windows\) or name another folder \(--scratch\)$/,
  );
});
