// The machine Rota runs on, as the doctor's sources. Owns the system calls; judges nothing.
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import type { CommandOutput, Sources } from './finding.ts';

export const thisMachine: Sources = {
  readText: (path) => attempt(() => readFileSync(path, 'utf8')),
  list: (path) => attempt(() => readdirSync(path)) ?? [],
  run,
  freeBytes: (path) =>
    attempt(() => {
      const stat = statfsSync(nearestExisting(path));
      return stat.bavail * stat.bsize;
    }),
  directIo,
  cores: availableParallelism(),
};

function run([program = '', ...args]: readonly string[]): CommandOutput | null {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', timeout: 20_000 });
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') return null;
  return { code: status ?? 124, stdout: stdout ?? '', stderr: stderr ?? '' };
}

/** Some file systems take the flag and some refuse to open with it; only trying tells. */
function directIo(folder: string): 'works' | 'refused' | 'unknown' {
  const path = join(nearestExisting(folder), `.rota-direct-${process.pid}`);
  try {
    writeFileSync(path, Buffer.alloc(4096));
  } catch {
    return 'unknown';
  }
  try {
    closeSync(openSync(path, constants.O_RDONLY | constants.O_DIRECT));
    return 'works';
  } catch {
    return 'refused';
  } finally {
    rmSync(path, { force: true });
  }
}

/** A folder that is made on first use has the disk of the one above it. */
function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path));
}

function attempt<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
