// Owns the form of lines that nobody adds to any more: compressed, under their file's name and `.br`. Knows no content.

import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { InvalidRecordError } from '../core/errors.ts';

const ENDING = '.br';

export const sealedName = (file: string): string => `${file}${ENDING}`;

/** A quarter of what gzip leaves of a ledger, in 0.04 s a MB; 10 leaves a sixth less and takes six times as long. */
const QUALITY = 9;

/** A window of 16 MiB: what a run says again and again, it says once. */
export function pack(text: Buffer): Buffer {
  return brotliCompressSync(text, {
    params: {
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_QUALITY]: QUALITY,
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
