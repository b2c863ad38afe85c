// Owns writing that survives a crash: whole files appear at once, and what was synced is on the disk; and reading what may not be
// there. Knows no content.

import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { EngineError } from '../core/errors.ts';

/** Null when there is no such file. */
export function readOrNull(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

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

const DISK_TROUBLE: Readonly<Record<string, (goOn: string) => string>> = {
  ENOSPC: (goOn) => `no space is left: free some, then ${goOn}`,
  EDQUOT: (goOn) => `the quota is used up: free some, then ${goOn}`,
  EFBIG: (goOn) => `a limit on the size of files is reached: raise it, then ${goOn}`,
  EIO: () => 'the disk reports an error',
};

/** The record cannot go on. Not the engine's failure: no run is void for it, and what was synced before stays. */
export class RecordError extends EngineError {
  constructor(message: string) {
    super(message, { phase: 'record' });
    this.name = 'RecordError';
  }
}

const RESUME = 'rota resume';

/** Does the writing; a full disk is told in a line that says how to go on. */
export function heedDisk<T>(file: string, write: () => T, goOn: string = RESUME): T {
  try {
    return write();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const reason = DISK_TROUBLE[code];
    throw reason === undefined ? error : new RecordError(`cannot write ${file}: ${reason(goOn)}`);
  }
}

/** A short write is not an error to the kernel: the rest is written until nothing is left. */
function writeAll(descriptor: number, content: string | Buffer): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
}

/** All of it or nothing: half a line would spoil the next one. */
export function appendWhole(descriptor: number, text: string, file: string): void {
  const { size } = fstatSync(descriptor);
  try {
    heedDisk(file, () => writeAll(descriptor, text));
  } catch (error) {
    ftruncateSync(descriptor, size);
    throw error;
  }
}

/** Readers see the old file or the new one, never a part. */
export function writeWhole(file: string, content: string | Buffer, goOn: string = RESUME): void {
  const aside = `${file}.tmp`;
  try {
    const descriptor = openSync(aside, 'w');
    try {
      heedDisk(
        file,
        () => {
          writeAll(descriptor, content);
          fdatasyncSync(descriptor);
        },
        goOn,
      );
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
