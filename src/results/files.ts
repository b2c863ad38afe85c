// Owns writing that survives a crash: whole files appear at once, and what was synced is on the disk. Knows no content.

import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { EngineError } from '../core/errors.ts';

export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Makes a folder and those above it. Not by `recursive`: where the system says that a folder cannot be made because it is not there,
 * as below /proc, that never comes back.
 */
export function makeFolder(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return;
    if (code !== 'ENOENT' || path.dirname(folder) === folder || existsSync(path.dirname(folder))) throw error;
    makeFolder(path.dirname(folder));
    mkdirSync(folder);
  }
}

const DISK_TROUBLE: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left: free some, then rota resume',
  EDQUOT: 'the quota is used up: free some, then rota resume',
  EIO: 'the disk reports an error',
};

/** A full disk is told in a line; what was synced before stays. */
export function explainDisk(error: unknown, file: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = DISK_TROUBLE[code];
  return reason === undefined
    ? error
    : new EngineError(`cannot write ${file}: ${reason}`, { phase: 'record' });
}

/** A short write is not an error to the kernel: the rest is written until nothing is left. */
export function writeAll(descriptor: number, text: string, file: string): void {
  const bytes = Buffer.from(text);
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
  } catch (error) {
    throw explainDisk(error, file);
  }
}

/** Readers see the old file or the new one, never a part. */
export function writeWhole(file: string, text: string): void {
  const aside = `${file}.tmp`;
  try {
    const descriptor = openSync(aside, 'w');
    try {
      writeAll(descriptor, text, aside);
      fdatasyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(aside, file);
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  }
  syncFolder(path.dirname(file));
}
