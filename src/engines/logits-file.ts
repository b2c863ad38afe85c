// The file of logits that an engine writes for a score (native/decode/logits_file.h). Owns its form and the reading of it row by row,
// so that a large vocabulary never lies in memory as a whole. Knows no arithmetic.

import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { endianness } from 'node:os';
import { EngineError } from '../core/errors.ts';

const HEAD_BYTES = 64;
const MAGIC = 'ROTALGTS';
const VERSION = 1;

export interface LogitsFile extends AsyncDisposable {
  readonly vocab: number;
  readonly firstRow: number;
  readonly rows: number;
  /** The next row, in memory that the next call uses again. Behind the last one it throws, when the digest is not that of the rows. */
  next(): Promise<Float32Array>;
}

/** Bytes of a file with so many rows. */
export function logitsFileBytes(vocab: number, rows: number): number {
  return HEAD_BYTES + rows * vocab * Float32Array.BYTES_PER_ELEMENT;
}

const broken = (path: string, why: string): EngineError =>
  new EngineError(`${path}: ${why}`, { phase: 'score' });

async function readFully(file: FileHandle, into: Uint8Array, at: number): Promise<boolean> {
  for (let done = 0; done < into.length; ) {
    const { bytesRead } = await file.read(into, done, into.length - done, at + done);
    if (bytesRead === 0) return false;
    done += bytesRead;
  }
  return true;
}

export async function openLogitsFile(path: string): Promise<LogitsFile> {
  if (endianness() !== 'LE') throw broken(path, 'floats are little-endian there, and this machine is not');
  const file = await open(path, 'r');
  try {
    return await readHead(file, path);
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function readHead(file: FileHandle, path: string): Promise<LogitsFile> {
  const head = Buffer.alloc(HEAD_BYTES);
  if (!(await readFully(file, head, 0)) || head.toString('latin1', 0, MAGIC.length) !== MAGIC)
    throw broken(path, 'is no file of logits');
  const [version = 0, vocab = 0, firstRow = 0, rows = 0, kind = 0] = [8, 12, 16, 20, 24].map((at) =>
    head.readUInt32LE(at),
  );
  if (version !== VERSION || kind !== 0)
    throw broken(path, `has the form ${version}.${kind}, known is ${VERSION}.0`);
  const { size } = await file.stat();
  if (size !== logitsFileBytes(vocab, rows))
    throw broken(
      path,
      `has ${size} bytes, ${rows} rows of ${vocab} logits have ${logitsFileBytes(vocab, rows)}`,
    );
  const stored = head.toString('hex', 32, HEAD_BYTES);
  const hash = createHash('sha256');
  const row = new Float32Array(vocab);
  const bytes = new Uint8Array(row.buffer);
  let done = 0;
  return {
    vocab,
    firstRow,
    rows,
    async next() {
      if (done === rows) throw new RangeError(`${path} has ${rows} rows`);
      if (!(await readFully(file, bytes, HEAD_BYTES + done * bytes.length)))
        throw broken(path, 'ends too soon');
      hash.update(bytes);
      done += 1;
      if (done === rows && hash.digest('hex') !== stored)
        throw broken(path, 'was altered: its digest is of other rows');
      return row;
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}
