// The last lines of a log, as a person should see them.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { cleanLines, readLogTail } from '../../src/engines/log-tail.ts';
import { temporaryFolder } from './helpers/fake.ts';

test('progress bars and colours are taken apart and off', () => {
  const text = '\u001b[32mok\u001b[0m\rload 10%\rload 90%\r\n\u001b]0;title\u0007done  \n\n';
  expect(cleanLines(text)).toEqual(['ok', 'load 10%', 'load 90%', 'done']);
  expect(cleanLines('z'.repeat(500))[0]).toHaveLength(401);
});

test('the last lines of a log of any length, the cut one left out', () => {
  using folder = temporaryFolder();
  const file = path.join(folder.path, 'x.log');
  writeFileSync(file, Array.from({ length: 20_000 }, (_, i) => `line ${i}\n`).join(''));
  expect(readLogTail(file, 2)).toEqual(['line 19998', 'line 19999']);
  const all = readLogTail(file, 1e6);
  expect(all.length).toBeGreaterThan(1000);
  expect(all.every((line) => /^line \d+$/.test(line))).toBe(true);
  writeFileSync(file, 'only');
  expect(readLogTail(file)).toEqual(['only']);
  expect(readLogTail(path.join(folder.path, 'none'))).toEqual([]);
});
