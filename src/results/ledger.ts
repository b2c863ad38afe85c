// Owns the ledgers of a run folder: cuts what an engine wrote down to its measured windows, keeps it compressed, and reads it back.
// Knows the form of a line, not what it means.

import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { sumsByRequest } from '../core/counters/ledger-sums.ts';
import { InvalidRecordError } from '../core/errors.ts';
import type { LedgerPass, RunLedger } from '../core/records/ledger.ts';
import { writeWhole } from './files.ts';
import { sha256 } from './journal-line.ts';
import type { RunFolder } from './run-folder.ts';
import { pack, sealedName, unpack } from './sealed.ts';

/** Far above a measured hour; above it the text is not held in memory at once. */
export const MAX_LEDGER_BYTES = 256 * 1024 ** 2;

const numberOrNull = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;

/** Null when it is no pass of decode: no JSON, no number of a request, or another kind. */
export function readLedgerLine(line: string): LedgerPass | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  const at = (of: unknown, name: string): unknown =>
    typeof of === 'object' && of !== null ? Reflect.get(of, name) : undefined;
  const number = (...names: string[]): number | null => numberOrNull(names.reduce(at, value));
  const request = number('id');
  const kind = at(value, 'kind');
  if (request === null || kind === 'prefill' || kind === 'draft') return null;
  return {
    request,
    rows: number('rows'),
    offered: number('offered'),
    accepted: number('accepted'),
    bySource: {
      hit: number('hit'),
      pcie: number('pcie'),
      cpu: number('cpu'),
      file: number('file'),
      skipped: number('skipped'),
    },
    bytes: {
      hit: number('bytes', 'hit'),
      pcie: number('bytes', 'pcie'),
      cpu: number('bytes', 'cpu'),
      file: number('bytes', 'file'),
      dense: number('bytes', 'dense'),
      engram: number('bytes', 'engram'),
    },
    ms: {
      total: number('ms', 'total'),
      draft: number('ms', 'draft'),
      dense: number('ms', 'dense'),
      experts: number('ms', 'experts'),
      pool: number('ms', 'pool'),
      fileWait: number('ms', 'file_wait'),
    },
  };
}

/** Whole lines; what follows the last newline is torn. */
function wholeLines(text: Buffer): { readonly lines: string[]; readonly tornBytes: number } {
  const end = text.lastIndexOf(10) + 1;
  const lines = text.subarray(0, end).toString('utf8').split('\n').slice(0, -1);
  return { lines, tornBytes: text.length - end };
}

/**
 * What the engine wrote into `written`, less what was not measured, sealed. Null when it wrote none: a run without a
 * ledger is a run all the same. The journal has the digest, so that nobody alters it unseen.
 */
export function sealLedger(
  folder: RunFolder,
  written: string,
  requests: ReadonlySet<number>,
): RunLedger | null {
  if (!existsSync(written)) return null;
  const { lines, tornBytes } = wholeLines(readFileSync(written));
  const kept = lines.flatMap((line) => {
    const pass = readLedgerLine(line);
    return pass !== null && requests.has(pass.request) ? [{ line, pass }] : [];
  });
  const bytes = pack(Buffer.from(kept.map(({ line }) => `${line}\n`).join('')));
  const file = sealedName(written);
  writeWhole(file, bytes);
  rmSync(written);
  return {
    file: path.relative(folder.path, file),
    sha256: sha256(bytes),
    lines: kept.length,
    tornBytes,
    windows: sumsByRequest(kept.map(({ pass }) => pass)),
  };
}

function readSealed(folder: RunFolder, ledger: RunLedger): Buffer {
  const file = path.join(folder.path, ledger.file);
  const altered = 'the record was altered after it was written';
  if (!existsSync(file)) throw new InvalidRecordError(`${file}: is missing: ${altered}`);
  const bytes = readFileSync(file);
  if (sha256(bytes) !== ledger.sha256)
    throw new InvalidRecordError(`${file}: is not what the journal has the digest of: ${altered}`);
  return bytes;
}

/** Throws InvalidRecordError when one of them is not what the journal says. */
export function checkLedgers(folder: RunFolder, ledgers: readonly RunLedger[]): void {
  for (const ledger of ledgers) readSealed(folder, ledger);
}

export function readLedger(folder: RunFolder, ledger: RunLedger): LedgerPass[] {
  const sealed = readSealed(folder, ledger);
  // Records of before are gzip's.
  const text = ledger.file.endsWith('.gz') ? gunzipSync(sealed) : unpack(sealed, ledger.file);
  const { lines } = wholeLines(text);
  return lines.flatMap((line) => readLedgerLine(line) ?? []);
}
