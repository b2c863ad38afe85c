import { mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ensureModel } from '../../src/model/ensure-model.ts';
import { fileOrPartsExist, filesOf, PartReader, withoutPartSuffix } from '../../src/model/file-parts.ts';
import { readGgufHeader } from '../../src/model/gguf-header.ts';
import { openTokenizer } from '../../src/model/tokenizer.ts';
import { header, tokenizerKeys } from './helpers/gguf-bytes.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rota-parts-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function writeParts(name: string, bytes: Buffer, each: number): string {
  for (let i = 0; i * each < bytes.length; i++) {
    writeFileSync(
      join(folder, `${name}.part-${String(i).padStart(2, '0')}`),
      bytes.subarray(i * each, (i + 1) * each),
    );
  }
  return join(folder, name);
}

test('a header cut anywhere reads as the whole one, from the file or any part of it', async () => {
  const bytes = header(tokenizerKeys(['a b']));
  const whole = join(folder, 'whole.gguf');
  writeFileSync(whole, bytes);
  for (let each = 57; each < bytes.length; each += 211) {
    const path = writeParts(`cut-${each}.gguf`, bytes, each);
    expect(readGgufHeader(path).keys).toEqual(readGgufHeader(whole).keys);
    expect(readGgufHeader(`${path}.part-01`).path).toBe(path);
  }
  const path = writeParts('m.gguf', bytes, 50);
  const tokenizer = await openTokenizer(path);
  expect(tokenizer.encode('ab')).toEqual((await openTokenizer(whole)).encode('ab'));
  expect(await ensureModel({ path }, { tool: '', folder, root: folder })).toBe(path);
  await expect(
    ensureModel({ path: join(folder, 'none.gguf') }, { tool: '', folder, root: folder }),
  ).rejects.toThrow('no such model');
});

test('a part that is missing between others is named; a whole file goes first', () => {
  const path = writeParts('m.gguf', Buffer.from('abcdefghij'), 3);
  expect(filesOf(path)).toHaveLength(4);
  renameSync(`${path}.part-01`, `${path}.kept`);
  expect(() => filesOf(path)).toThrow(`${path}.part-01: this part is missing, ${path}.part-02 is there`);
  renameSync(`${path}.kept`, `${path}.part-01`);
  writeFileSync(path, 'whole');
  expect(filesOf(path)).toEqual([path]);
  expect(filesOf(`${path}.part-02`)).toHaveLength(4);
  unlinkSync(path);
  expect(fileOrPartsExist(path)).toBe(true);
  expect(fileOrPartsExist(join(folder, 'other.gguf'))).toBe(false);
  expect(withoutPartSuffix('a.part-1')).toBe('a.part-1');
});

test('a read ends where its part ends, and gives nothing behind the last', () => {
  using reader = new PartReader(writeParts('m', Buffer.from('abcdefghij'), 4));
  const out = Buffer.alloc(10);
  expect(reader.size).toBe(10);
  expect(reader.read(out, 0, 10, 2)).toBe(2);
  expect(out.toString('latin1', 0, 2)).toBe('cd');
  expect(reader.read(out, 0, 10, 8)).toBe(2);
  expect(reader.read(out, 0, 10, 10)).toBe(0);
});
