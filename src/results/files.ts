// Owns writing that survives a crash: whole files appear at once, and what was synced is on the disk. Knows no content.

import { closeSync, fdatasyncSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';

export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** A short write is not an error to the kernel: the rest is written until nothing is left. */
export function writeAll(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
}

/** Readers see the old file or the new one, never a part. */
export function writeWhole(file: string, text: string): void {
  const aside = `${file}.tmp`;
  try {
    const descriptor = openSync(aside, 'w');
    try {
      writeAll(descriptor, text);
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
