// A folder for the logits of a scoring, gone when it ends. Owns its name, what a killed Rota left of it, and whether there is room.

import { mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { EngineError } from '../../core/errors.ts';
import { readPidStat } from '../../machine/processes.ts';
import { makeFolder } from '../../results/files.ts';

export interface Scratch extends Disposable {
  readonly path: string;
  /** EngineError when so many bytes do not fit, with what to do. */
  need(bytes: number, what: string): void;
}

const NAME = /^\.score-(\d+)-/;

export function openScratch(parent: string): Scratch {
  makeFolder(parent);
  for (const name of readdirSync(parent)) {
    const pid = NAME.exec(name)?.[1];
    // Its maker is dead, and nobody else reads it: a number that was given again keeps it until next time.
    if (pid !== undefined && readPidStat(Number(pid)) === null)
      rmSync(join(parent, name), { recursive: true, force: true });
  }
  const path = mkdtempSync(join(parent, `.score-${process.pid}-`));
  const remove = (): void => rmSync(path, { recursive: true, force: true });
  // A second Ctrl-C ends the process at once.
  process.once('exit', remove);
  return {
    path,
    need(bytes, what) {
      const { bavail, bsize } = statfsSync(path);
      const free = bavail * bsize;
      if (free >= bytes) return;
      throw new EngineError(
        `${what} need ${gigabytes(bytes)}, ${parent} has ${gigabytes(free)} free; score fewer windows (--windows) or name another folder (--scratch)`,
        { phase: 'score' },
      );
    },
    [Symbol.dispose]() {
      remove();
      process.off('exit', remove);
    },
  };
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(bytes < 1e8 ? 4 : 1)} GB`;
