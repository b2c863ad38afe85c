// The file of logits that an engine writes: rows in order, and every way in which it can be no such file.

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { logitsFileBytes, openLogitsFile } from '../../src/engines/logits-file.ts';
import { temporaryFolder } from './helpers/fake.ts';

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

const ROWS = [Float32Array.of(1, 2.5, -3), Float32Array.of(4, Number.NEGATIVE_INFINITY, 6)];

function fileWith(change: (bytes: Buffer) => Buffer = (bytes) => bytes): string {
  const rows = Buffer.concat(ROWS.map((row) => Buffer.from(row.buffer)));
  const head = Buffer.alloc(64);
  head.write('ROTALGTS', 'latin1');
  for (const [i, word] of [1, 3, 7, 2].entries()) head.writeUInt32LE(word, 8 + 4 * i);
  createHash('sha256').update(rows).digest().copy(head, 32);
  const file = path.join(folder.path, 'logits');
  writeFileSync(file, change(Buffer.concat([head, rows])));
  return file;
}

const put = (at: number, value: number) => (bytes: Buffer) => {
  bytes.writeUInt32LE(value, at);
  return bytes;
};

test('gives its rows in order, and no more than it has', async () => {
  await using file = await openLogitsFile(fileWith());
  expect(file).toMatchObject({ vocab: 3, firstRow: 7, rows: 2 });
  for (const row of ROWS) expect([...(await file.next())]).toEqual([...row]);
  await expect(file.next()).rejects.toThrow('has 2 rows');
  expect(logitsFileBytes(3, 2)).toBe(64 + 24);
});

test.each<[string, (bytes: Buffer) => Buffer]>([
  ['is no file of logits', put(0, 0)],
  ['is no file of logits', (bytes) => bytes.subarray(0, 40)],
  ['has the form 2.0, known is 1.0', put(8, 2)],
  ['has the form 1.1, known is 1.0', put(24, 1)],
  ['has 84 bytes, 2 rows of 3 logits have 88', (bytes) => bytes.subarray(0, 84)],
  ['has 88 bytes, 3 rows of 3 logits have 100', put(20, 3)],
])('a file that %s is refused at once', async (why, change) => {
  const file = fileWith(change);
  await expect(openLogitsFile(file)).rejects.toThrow(`${file}: ${why}`);
});

test('rows that were altered are not believed', async () => {
  await using file = await openLogitsFile(fileWith(put(64, 0x3f000000)));
  await file.next();
  await expect(file.next()).rejects.toThrow('was altered: its digest is of other rows');
});

test('a file that is not there is the system’s own error', async () => {
  await expect(openLogitsFile(path.join(folder.path, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
});
