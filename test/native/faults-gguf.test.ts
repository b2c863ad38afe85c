// Model files that are cut anywhere, or that lie, given to the real engine: exit 3 and one line, never a crash and never ready.

import {
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { runStrata } from './helpers/strata.ts';
import { withModel } from './helpers/workspace.ts';

const { folder, model } = withModel('mini-xs');
/** Offsets of the parts of its header, found by walking it. */
let parts: Record<string, number>;

const SCALAR_BYTES = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];

/** Where each kind of thing first stands in the header of a GGUF. */
function walk(file: Buffer): Record<string, number> {
  const found: Record<string, number> = {};
  const note = (name: string, at: number): void => {
    found[name] ??= at;
  };
  const tensors = Number(file.readBigUInt64LE(8));
  const keys = Number(file.readBigUInt64LE(16));
  let at = 24;
  const step = (bytes: number): number => {
    at += bytes;
    return at - bytes;
  };
  const u64 = (): number => Number(file.readBigUInt64LE(step(8)));
  const u32 = (): number => file.readUInt32LE(step(4));
  const value = (type: number, count: number): void => {
    if (type !== 8) step((SCALAR_BYTES[type] ?? 0) * count);
    else for (let i = 0; i < count; ++i) step(u64());
  };
  for (let i = 0; i < keys; ++i) {
    note('a key length', at + 3);
    const length = u64();
    note('a key name', at + 2);
    at += length;
    note('a value type', at + 2);
    const type = u32();
    if (type === 9) {
      const element = u32();
      note('an array length', at + 3);
      const count = u64();
      note(element === 8 ? 'a string of an array' : 'a value of an array', at + 3);
      value(element, count);
    } else {
      note(type === 8 ? 'a string value' : 'a scalar value', at + (type === 8 ? 9 : 1));
      value(type, 1);
    }
  }
  for (let i = 0; i < tensors; ++i) {
    const length = u64();
    note('a tensor name', at + 2);
    at += length;
    const dims = u32();
    note('a tensor dimension', at + 3);
    at += 8 * dims;
    note('a tensor type', at + 1);
    at += 4;
    note('a tensor offset', at + 3);
    at += 8;
  }
  note('the padding before the data', at + 1);
  return found;
}

beforeAll(() => {
  parts = walk(readFileSync(model));
});

function expectRefused(file: string, says: RegExp = /./): void {
  const { code, signal, stdout, stderr } = runStrata(['--model', file, '--depth', '0']);
  expect([code, signal]).toEqual([3, null]);
  expect(stderr).toMatch(/^rota-strata: [^\n]+\n$/);
  expect(stderr).toContain(path.basename(file));
  expect(stderr).toMatch(says);
  expect(stdout).not.toContain('"ready"');
}

function copyOf(name: string): string {
  const copy = path.join(folder.path, `${name}.gguf`);
  copyFileSync(model, copy);
  return copy;
}

describe('cut inside', () => {
  const fixed = { 'the magic': 2, 'the version': 6, 'the tensor count': 12, 'the key count': 20 };
  const walked = [
    'a key length',
    'a key name',
    'a value type',
    'an array length',
    'a value of an array',
    'a string value',
    'a scalar value',
    'a tensor name',
    'a tensor dimension',
    'a tensor type',
    'a tensor offset',
    'the padding before the data',
  ];
  test.each([...Object.keys(fixed), ...walked])('%s', (what) => {
    const cut = copyOf(`cut-${what.replaceAll(' ', '-')}`);
    const at = (fixed as Record<string, number>)[what] ?? parts[what];
    expect(at).toBeGreaterThan(0);
    truncateSync(cut, at ?? 0);
    expectRefused(cut);
  });

  test.each([
    ['the first data', 0.2],
    ['the middle of the data', 0.5],
    ['the last byte', 1],
  ])('%s', (what, share) => {
    const cut = copyOf(`cut-${what.replaceAll(' ', '-')}`);
    truncateSync(cut, Math.floor(statSync(cut).size * share) - 1);
    expectRefused(cut, /is the file truncated\?/);
  });

  test('everything: an empty file, a folder, a text', () => {
    const empty = path.join(folder.path, 'empty.gguf');
    writeFileSync(empty, '');
    expectRefused(empty, /the file is empty/);
    const text = path.join(folder.path, 'text.gguf');
    writeFileSync(text, '{"model": true}'.repeat(100));
    expectRefused(text, /not a GGUF file/);
    expectRefused(folder.path, /not a regular file/);
  });
});

describe('a header that lies', () => {
  const HUGE = 2n ** 62n;
  const LIES: readonly (readonly [string, () => number, bigint, RegExp])[] = [
    ['about its keys', () => 16, HUGE, /claims 4611686018427387904 keys/],
    ['about its tensors', () => 8, HUGE, /claims 4611686018427387904 tensors/],
    ['about the length of a key', () => (parts['a key length'] ?? 0) - 3, HUGE, /a key has \d+ characters/],
    [
      'about the length of an array',
      () => (parts['an array length'] ?? 0) - 3,
      HUGE,
      /more than the file can hold/,
    ],
    ['about the size of a tensor', () => (parts['a tensor dimension'] ?? 0) - 3, 2n ** 56n, /tensor/],
    ['about the place of a tensor', () => (parts['a tensor offset'] ?? 0) - 3, HUGE, /is the file truncated/],
  ];
  test.each(LIES)('%s', (what, at, value, says) => {
    const lie = copyOf(`lie-${what.replaceAll(' ', '-')}`);
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value);
    const descriptor = openSync(lie, 'r+');
    writeSync(descriptor, bytes, 0, 8, at());
    closeSync(descriptor);
    expectRefused(lie, says);
  });
});

test('a name that holds a newline and a colour is quoted in one line', () => {
  const odd = copyOf('odd-name');
  const head = Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(20)]);
  head.writeUInt32LE(3, 4);
  head.writeBigUInt64LE(1n, 16);
  const key = Buffer.from('a\nb\u001b[31m');
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(key.length));
  writeFileSync(odd, Buffer.concat([head, length, key, Buffer.from([77, 0, 0, 0])]));
  expectRefused(odd, /key a\\x0ab\\x1b\[31m has unknown value type 77/);
});

describe('requests that lie', () => {
  const DEEP = '['.repeat(200_000) + ']'.repeat(200_000);
  test.each([
    [
      'a prompt nested deeper than a stack',
      `{"id":1,"op":"generate","max_new":1,"prompt":[${DEEP}]}`,
      'prompt[0] is not a token id: an array',
    ],
    [
      'an id nested deeper than a stack',
      `{"id":${DEEP},"op":"stats"}`,
      'id must be a whole number, got an array',
    ],
    [
      'an op of a megabyte',
      `{"id":1,"op":"${'x'.repeat(1 << 20)}"}`,
      `no such op: ${'x'.repeat(60)}...; generate, score, cancel, stats, reset or quit`,
    ],
    [
      'a field of a megabyte',
      `{"id":1,"op":"stats","${'ü'.repeat(1 << 19)}":1}`,
      `unknown field "${'ü'.repeat(30)}..."`,
    ],
  ])('%s', (_, line, message) => {
    const { code, stdout } = runStrata(['--model', model, '--depth', '0'], `${line}\n`);
    expect(code).toBe(0);
    const error = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as { message: string };
    expect(error).toMatchObject({ event: 'error', message });
  });
});
