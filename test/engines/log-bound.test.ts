// The bound on an engine's log, with a file that only grows and with an engine that floods it.

import { appendFileSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { boundLog } from '../../src/engines/log-bound.ts';
import { startFake, temporaryFolder } from './helpers/fake.ts';

const lines = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, i) => `line ${from + i} ${'.'.repeat(90)}\n`).join('');

test('a log that is too long keeps its beginning, says what is missing, and goes on', () => {
  using folder = temporaryFolder();
  const file = path.join(folder.path, 'x.log');
  appendFileSync(file, lines(0, 5000));
  using bound = boundLog(file, 1_000_000);
  bound.check();
  expect(statSync(file).size).toBe(lines(0, 5000).length);
  appendFileSync(file, lines(5000, 15_000));
  bound.check();
  appendFileSync(file, lines(15_000, 15_001));
  const text = readFileSync(file, 'utf8');
  expect(text.startsWith(lines(0, 2000))).toBe(true);
  expect(text).toMatch(/\nrota: the engine floods its log; \d{7} bytes were cut here\nline 15000 /);
  const cutBytes = Number(/log; (\d+) bytes/.exec(text)?.[1]);
  const kept =
    text
      .split('\n')
      .filter((line) => line.startsWith('line'))
      .join('\n').length + 1;
  expect(cutBytes + kept).toBe(lines(0, 15_001).length);
});

test('a log that somebody removed is no error', () => {
  using folder = temporaryFolder();
  using bound = boundLog(path.join(folder.path, 'none'), 10);
  expect(() => bound.check()).not.toThrow();
});

test('an engine that floods its log is stopped from filling the disk, while it runs and after it', async () => {
  await using fake = await startFake('flood-log', { maxLogBytes: 3_000_000 });
  await fake.session.ready();
  let largest = 0;
  let cuts = 0;
  for (const end = performance.now() + 20_000; performance.now() < end && cuts < 2; ) {
    const before = largest;
    const { size } = statSync(fake.logFile);
    if (size < before / 2) {
      cuts += 1;
      largest = 0;
    }
    largest = Math.max(largest, size);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(cuts).toBe(2);
  expect((await fake.session.stop()).means).toBe('quit');
  expect(fake.session.logBytes()).toBeLessThanOrEqual(3_000_000);
  expect(fake.session.logTail().at(-1)).toMatch(/the same error again|rota: the engine floods its log/);
});
