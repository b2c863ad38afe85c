// Owns the form of text that nobody adds to any more: compressed, beside where it was written, under its name and `.br`. Plain text that
// is still there is what counts. Knows no content.

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { InvalidRecordError } from '../core/errors.ts';
import { readOrNull, writeWhole } from './files.ts';

const ENDING = '.br';

export const sealedName = (file: string): string => `${file}${ENDING}`;

/** Above this the effort that halves gzip's size takes minutes. */
const THOROUGH_BYTES = 8 * 1024 ** 2;

/** A window of 16 MiB: what a run says again and again, it says once. */
export function pack(text: Buffer): Buffer {
  return brotliCompressSync(text, {
    params: {
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_QUALITY]: text.length <= THOROUGH_BYTES ? 10 : 5,
      [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
    },
  });
}

const NEWLINE = 10;

/** Throws InvalidRecordError for what `pack` did not make of whole lines. */
export function unpack(bytes: Buffer, file: string): Buffer {
  const altered = (what: string): InvalidRecordError =>
    new InvalidRecordError(`${file}: ${what}: the record was altered after it was written`);
  let text: Buffer;
  try {
    text = brotliDecompressSync(bytes);
  } catch {
    throw altered('cannot be unpacked');
  }
  if (text.length > 0 && text.at(-1) !== NEWLINE) throw altered('its last line is not whole');
  return text;
}

/** Null when there is neither. Another Rota may seal or unseal it just now: what is asked for first may come to be after that. */
export function readText(file: string): Buffer | null {
  const plain = readOrNull(file);
  if (plain !== null) return plain;
  const sealed = readOrNull(sealedName(file));
  return sealed === null ? readOrNull(file) : unpack(sealed, sealedName(file));
}

/** A crash in between leaves both, and the plain one counts. */
export function seal(file: string): void {
  if (!existsSync(file)) return;
  writeWhole(sealedName(file), pack(readFileSync(file)));
  rmSync(file);
}

/** So that it can be added to. */
export function unseal(file: string): void {
  const sealed = sealedName(file);
  if (!existsSync(sealed)) return;
  if (!existsSync(file)) writeWhole(file, unpack(readFileSync(sealed), sealed));
  rmSync(sealed);
}
