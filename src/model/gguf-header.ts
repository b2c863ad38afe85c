// Reads the keys of a GGUF v3 file. Owns the header's grammar and its limits; knows nothing of tensors' bytes or what a key means.
import { EngineError } from '../core/errors.ts';
import { PartReader } from './file-parts.ts';

export type GgufScalar = number | bigint | boolean | string;
export type GgufValue = GgufScalar | readonly GgufValue[];

export interface GgufHeader {
  readonly path: string;
  readonly tensorCount: number;
  readonly keys: ReadonlyMap<string, GgufValue>;
}

const CHUNK_BYTES = 1 << 20;
const MAX_KEY_BYTES = 65_535;
const MAX_ARRAY_DEPTH = 4;
/** A key needs its length, one letter, its type and one byte of value. */
const MIN_KEY_VALUE_BYTES = 8 + 1 + 4 + 1;

const TYPE = { string: 8, array: 9 } as const;
type Read = (cursor: Cursor) => GgufScalar;
const SCALARS: ReadonlyMap<number, { readonly bytes: number; readonly read: Read }> = new Map([
  [0, { bytes: 1, read: (c: Cursor) => c.view(1).getUint8(0) }],
  [1, { bytes: 1, read: (c: Cursor) => c.view(1).getInt8(0) }],
  [2, { bytes: 2, read: (c: Cursor) => c.view(2).getUint16(0, true) }],
  [3, { bytes: 2, read: (c: Cursor) => c.view(2).getInt16(0, true) }],
  [4, { bytes: 4, read: (c: Cursor) => c.view(4).getUint32(0, true) }],
  [5, { bytes: 4, read: (c: Cursor) => c.view(4).getInt32(0, true) }],
  [6, { bytes: 4, read: (c: Cursor) => c.view(4).getFloat32(0, true) }],
  [7, { bytes: 1, read: readBool }],
  [10, { bytes: 8, read: (c: Cursor) => safe(c.view(8).getBigUint64(0, true)) }],
  [11, { bytes: 8, read: (c: Cursor) => safe(c.view(8).getBigInt64(0, true)) }],
  [12, { bytes: 8, read: (c: Cursor) => c.view(8).getFloat64(0, true) }],
]);

/**
 * Keys for which `wanted` is false are checked and stepped over, not kept: a header of a big model holds
 * megabytes of tables that most callers do not need.
 */
export function readGgufHeader(path: string, wanted: (key: string) => boolean = () => true): GgufHeader {
  using file = new PartReader(path);
  return parse(new Cursor(file), wanted);
}

function parse(cursor: Cursor, wanted: (key: string) => boolean): GgufHeader {
  if (cursor.remaining < 24) cursor.fail(`only ${cursor.size} bytes: not a GGUF file, or a truncated one`);
  if (cursor.text(4, 'the magic') !== 'GGUF') cursor.fail('does not begin with "GGUF": not a GGUF file');
  const version = cursor.view(4).getUint32(0, true);
  if (version !== 3) {
    const swapped = version === 0x03000000;
    cursor.fail(
      swapped ? 'is big-endian, which is not supported' : `GGUF version ${version}; only version 3 is read`,
    );
  }
  const tensorCount = cursor.count('the number of tensors', 1);
  const keyCount = cursor.count('the number of keys', MIN_KEY_VALUE_BYTES);
  const keys = new Map<string, GgufValue>();
  const seen = new Set<string>();
  for (let index = 0; index < keyCount; index++) {
    const key = readKey(cursor, index);
    if (seen.has(key)) cursor.fail(`key "${key}" appears twice`);
    seen.add(key);
    const type = cursor.view(4).getUint32(0, true);
    const keep = wanted(key);
    const value = readValue(cursor, type, key, keep, 0);
    if (keep) keys.set(key, value);
  }
  return { path: cursor.path, tensorCount, keys };
}

function readKey(cursor: Cursor, index: number): string {
  const length = cursor.count(`the length of key ${index}`, 1);
  if (length === 0 || length > MAX_KEY_BYTES) cursor.fail(`key ${index} has a length of ${length} bytes`);
  return cursor.text(length, `key ${index}`);
}

function readValue(cursor: Cursor, type: number, key: string, keep: boolean, depth: number): GgufValue {
  const scalar = SCALARS.get(type);
  if (scalar !== undefined) return scalar.read(cursor);
  if (type === TYPE.string) {
    const length = cursor.count(`the length of "${key}"`, 1);
    if (keep) return cursor.text(length, `"${key}"`);
    cursor.skip(length);
    return '';
  }
  if (type === TYPE.array) return readArray(cursor, key, keep, depth);
  return cursor.fail(`key "${key}" has the unknown value type ${type}`);
}

function readArray(cursor: Cursor, key: string, keep: boolean, depth: number): readonly GgufValue[] {
  if (depth >= MAX_ARRAY_DEPTH) cursor.fail(`key "${key}" nests arrays deeper than ${MAX_ARRAY_DEPTH}`);
  const type = cursor.view(4).getUint32(0, true);
  const scalar = SCALARS.get(type);
  const count = cursor.count(`the length of array "${key}"`, scalar?.bytes ?? 8);
  if (!keep && scalar !== undefined) {
    cursor.skip(count * scalar.bytes);
    return [];
  }
  const values: GgufValue[] = [];
  for (let i = 0; i < count; i++) {
    const value = readValue(cursor, type, key, keep, depth + 1);
    if (keep) values.push(value);
  }
  return values;
}

function readBool(cursor: Cursor): boolean {
  const byte = cursor.view(1).getUint8(0);
  if (byte > 1) cursor.fail(`a boolean holds ${byte}`);
  return byte === 1;
}

/** Integers beyond 2^53 stay bigint, so that none is silently rounded. */
function safe(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** A window that moves forward over the file: only the header is ever read. */
class Cursor {
  readonly path: string;
  readonly size: number;
  private readonly file: PartReader;
  private readonly decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  private window = Buffer.alloc(0);
  private windowStart = 0;
  private position = 0;

  constructor(file: PartReader) {
    this.file = file;
    this.path = file.path;
    this.size = file.size;
  }

  get remaining(): number {
    return this.size - this.position;
  }

  fail(what: string): never {
    throw new EngineError(`${this.path}: byte ${this.position}: ${what}`, { phase: 'load' });
  }

  view(bytes: number): DataView {
    const buffer = this.take(bytes);
    return new DataView(buffer.buffer, buffer.byteOffset, bytes);
  }

  /** A count of items, each at least `itemBytes` long: one that cannot fit into the rest of the file is refused. */
  count(what: string, itemBytes: number): number {
    const value = this.view(8).getBigUint64(0, true);
    if (value > BigInt(Math.floor(this.remaining / itemBytes))) {
      this.fail(`${what} is ${value}, more than the file can hold: truncated or damaged`);
    }
    return Number(value);
  }

  text(bytes: number, what: string): string {
    const buffer = this.take(bytes);
    try {
      return this.decoder.decode(buffer);
    } catch {
      return this.fail(`${what} is not valid UTF-8`);
    }
  }

  skip(bytes: number): void {
    if (bytes > this.remaining) this.fail('the file ends inside its header: truncated');
    this.position += bytes;
  }

  private take(bytes: number): Buffer {
    if (bytes > this.remaining) this.fail('the file ends inside its header: truncated');
    const start = this.position - this.windowStart;
    if (start < 0 || start + bytes > this.window.length) this.fill(Math.max(bytes, CHUNK_BYTES));
    const from = this.position - this.windowStart;
    this.position += bytes;
    return this.window.subarray(from, from + bytes);
  }

  private fill(bytes: number): void {
    const length = Math.min(bytes, this.remaining);
    const next = Buffer.alloc(length);
    let done = 0;
    while (done < length) {
      const got = this.file.read(next, done, length - done, this.position + done);
      if (got === 0) this.fail('the file became shorter while it was read');
      done += got;
    }
    this.window = next;
    this.windowStart = this.position;
  }
}
