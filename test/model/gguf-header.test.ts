import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EngineError, UserError } from '../../src/core/errors.ts';
import { type GgufHeader, readGgufHeader } from '../../src/model/gguf-header.ts';
import { header, type Key, keyBytes, text, tokenizerKeys, u32, u64 } from './helpers/gguf-bytes.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rota-gguf-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function read(bytes: Buffer, wanted?: (key: string) => boolean): GgufHeader {
  const path = join(folder, 'x.gguf');
  writeFileSync(path, bytes);
  return readGgufHeader(path, wanted);
}

function refusal(bytes: Buffer): string {
  try {
    read(bytes);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    expect(error.exitCode).toBe(3);
    return error.message.replace(`${folder}/`, '');
  }
  throw new Error('the header was accepted');
}

const ONE_OF_EACH: Record<string, Key> = {
  a: { type: 'u8', value: 255 },
  b: { type: 'i8', value: -1 },
  c: { type: 'u16', value: 65535 },
  d: { type: 'i16', value: -2 },
  e: { type: 'u32', value: 4294967295 },
  f: { type: 'i32', value: -3 },
  g: { type: 'f32', value: 0.5 },
  h: { type: 'bool', value: true },
  i: { type: 'string', value: 'é\u{1F600}' },
  j: { type: 'u64', value: 18446744073709551615n },
  k: { type: 'i64', value: -9007199254740991n },
  l: { type: 'f64', value: 1e300 },
  m: { type: 'array', of: 'u64', values: [1n, 2n ** 60n] },
  n: { type: 'array', of: 'string', values: ['', 'x'] },
};

describe('a good header', () => {
  it('gives every type its value, and never rounds an integer', () => {
    const { keys, tensorCount } = read(header(ONE_OF_EACH));
    expect(tensorCount).toBe(0);
    expect(Object.fromEntries(keys)).toEqual({
      a: 255,
      b: -1,
      c: 65535,
      d: -2,
      e: 4294967295,
      f: -3,
      g: 0.5,
      h: true,
      i: 'é\u{1F600}',
      j: 18446744073709551615n,
      k: -9007199254740991,
      l: 1e300,
      m: [1, 2n ** 60n],
      n: ['', 'x'],
    });
  });

  it('keeps only the keys that are asked for, and still checks the others', () => {
    const bytes = header({ ...ONE_OF_EACH, z: { type: 'u8', value: 7 } });
    expect([...read(bytes, (key) => key === 'z').keys]).toEqual([['z', 7]]);
  });

  it('reads nested arrays', () => {
    const nested = Buffer.concat([
      text('n'),
      u32(9),
      u32(9),
      u64(2),
      u32(0),
      u64(1),
      Buffer.from([1]),
      u32(0),
      u64(0),
    ]);
    const bytes = Buffer.concat([Buffer.from('GGUF'), u32(3), u64(0), u64(1), nested]);
    expect(read(bytes).keys.get('n')).toEqual([[1], []]);
  });

  it('reads a string longer than its window', () => {
    const long = 'x'.repeat(3_000_000);
    expect(
      read(header({ s: { type: 'string', value: long }, t: { type: 'u8', value: 1 } })).keys.get('s'),
    ).toBe(long);
  });
});

describe('a bad header is refused in one line', () => {
  it('names the file, the byte and what is wrong', () => {
    const huge = Buffer.concat([Buffer.from('GGUF'), u32(3), u64(0), u64(2n ** 63n)]);
    const array = Buffer.concat([text('a'), u32(9), u32(4), u64(2n ** 62n)]);
    const deep = Buffer.concat([
      text('a'),
      u32(9),
      ...Array.from({ length: 6 }, () => Buffer.concat([u32(9), u64(1)])),
      u32(0),
      u64(1),
      Buffer.alloc(64),
    ]);
    const one = (body: Buffer): Buffer =>
      Buffer.concat([Buffer.from('GGUF'), u32(3), u64(0), u64(1), body, Buffer.alloc(20)]);
    expect([
      refusal(Buffer.from('GGUF')),
      refusal(Buffer.alloc(64, 'safetensors')),
      refusal(header({}, { version: 2 })),
      refusal(header({}, { version: 0x03000000 })),
      refusal(huge),
      refusal(one(array)),
      refusal(one(deep)),
      refusal(one(Buffer.concat([text('k'), u32(99), u64(0)]))),
      refusal(one(Buffer.concat([text(''), u32(0), u64(0)]))),
      refusal(header({ k: { type: 'bool', value: 2 } })),
      refusal(
        Buffer.concat([
          Buffer.from('GGUF'),
          u32(3),
          u64(0),
          u64(2),
          keyBytes('k', { type: 'u8', value: 1 }),
          keyBytes('k', { type: 'u8', value: 1 }),
        ]),
      ),
      refusal(one(Buffer.concat([u64(2), Buffer.from([0xff, 0xfe]), u32(0), u64(0)]))),
    ]).toMatchInlineSnapshot(`
      [
        "x.gguf: byte 0: only 4 bytes: not a GGUF file, or a truncated one",
        "x.gguf: byte 4: does not begin with "GGUF": not a GGUF file",
        "x.gguf: byte 8: GGUF version 2; only version 3 is read",
        "x.gguf: byte 8: is big-endian, which is not supported",
        "x.gguf: byte 24: the number of keys is 9223372036854775808, more than the file can hold: truncated or damaged",
        "x.gguf: byte 49: the length of array "a" is 4611686018427387904, more than the file can hold: truncated or damaged",
        "x.gguf: byte 85: key "a" nests arrays deeper than 4",
        "x.gguf: byte 37: key "k" has the unknown value type 99",
        "x.gguf: byte 32: key 0 has a length of 0 bytes",
        "x.gguf: byte 38: a boolean holds 2",
        "x.gguf: byte 47: key "k" appears twice",
        "x.gguf: byte 34: key 0 is not valid UTF-8",
      ]
    `);
  });

  it('says that a file is missing, or no file, as a user error', () => {
    expect(() => readGgufHeader(join(folder, 'none.gguf'))).toThrow(UserError);
    expect(() => readGgufHeader(folder)).toThrow(/is not a file/);
  });

  it('never crashes on a cut at any length', () => {
    const bytes = header(ONE_OF_EACH);
    for (let length = 0; length < bytes.length; length++) refusal(bytes.subarray(0, length));
  });

  it('never crashes on changed bytes', () => {
    const bytes = header(tokenizerKeys(['a b']));
    const change = fc.record({ at: fc.nat(bytes.length - 1), byte: fc.nat(255) });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const copy = Buffer.from(bytes);
        for (const { at, byte } of changes) copy[at] = byte;
        try {
          read(copy);
        } catch (error) {
          expect(error).toBeInstanceOf(EngineError);
        }
      }),
      { numRuns: 500 },
    );
  });
});
