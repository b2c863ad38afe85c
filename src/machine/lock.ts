// Owns "one Rota a machine": a lock that names its holder and that a dead holder does not keep. Knows nothing of runs.

import { linkSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { EngineError } from '../core/errors.ts';
import { heedDisk } from '../results/files.ts';
import type { Clock } from './clock.ts';
import { identify, isAlive } from './processes.ts';

/** Fixed, not TMPDIR: users with folders of their own still share the machine. */
const DEFAULT_FOLDER = '/tmp';

const processId = z.object({ pid: z.int(), startTicks: z.int() });

const holder = z.object({
  process: processId,
  /** It ends what a killed Rota left behind; until it is gone the machine is not free. */
  guard: processId.nullable(),
  bootId: z.string(),
  command: z.string(),
  folder: z.string(),
  utc: z.string(),
});

export type LockHolder = z.infer<typeof holder>;

export interface MachineLock extends Disposable {
  readonly file: string;
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}

function readHolder(file: string): LockHolder | null {
  try {
    return holder.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    // Gone in between, or not written by Rota: a lock appears whole or not at all.
    return null;
  }
}

type Life = 'alive' | 'cleaning-up' | 'dead';

function lifeOf(other: LockHolder): Life {
  if (other.bootId !== bootId()) return 'dead';
  if (isAlive(other.process)) return 'alive';
  return other.guard !== null && isAlive(other.guard) ? 'cleaning-up' : 'dead';
}

function others(folder: string, mine: string | null): { file: string; holder: LockHolder; life: Life }[] {
  return readdirSync(folder)
    .filter((name) => /^rota-machine-\d+-\d+\.lock$/.test(name))
    .map((name) => path.join(folder, name))
    .filter((file) => file !== mine)
    .flatMap((file) => {
      const found = readHolder(file);
      return found === null ? [] : [{ file, holder: found, life: lifeOf(found) }];
    });
}

/** Who measures on this machine now. */
export function lockHolders(folder: string = DEFAULT_FOLDER): LockHolder[] {
  return others(folder, null)
    .filter((other) => other.life !== 'dead')
    .map((other) => other.holder);
}

/** Whole at once: written aside, then linked. A file of that name can only be the stale one of a pid used again. */
function publish(folder: string, content: LockHolder): string {
  const file = path.join(folder, `rota-machine-${process.getuid?.() ?? 0}-${content.process.pid}.lock`);
  const aside = mkdtempSync(path.join(folder, 'rota-lock-'));
  try {
    const text = `${JSON.stringify(content)}\n`;
    const write = (): void => writeFileSync(path.join(aside, 'lock'), text, { mode: 0o644 });
    heedDisk(file, write, 'start it again');
    rmSync(file, { force: true });
    linkSync(path.join(aside, 'lock'), file);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  return file;
}

function removeStale(folder: string, mine: string): void {
  for (const other of others(folder, mine)) {
    if (other.life !== 'dead') continue;
    try {
      rmSync(other.file, { force: true });
    } catch {
      // Another user's: it stays, and it stays stale.
    }
  }
}

/** A killed Rota's guard is done within seconds. */
const CLEAN_UP_MS = 25_000;

export interface LockOptions {
  readonly clock: Clock;
  readonly command: string;
  readonly folder: string;
  readonly utc: string;
  readonly guard: LockHolder['guard'];
  /** Go on beside others. The lock is taken all the same, so that they can see us. */
  readonly share: boolean;
  readonly lockFolder?: string;
  /** Ends the wait for a killed Rota's guard. */
  readonly signal?: AbortSignal;
}

function describe(other: LockHolder): string {
  return `pid ${other.process.pid} since ${other.utc}: ${other.command} (run folder ${other.folder})`;
}

/**
 * Each Rota publishes a lock of its own and then looks for others, so two that start in the same instant both see the
 * other: both may refuse, never do both go on.
 */
export async function lockMachine(options: LockOptions): Promise<MachineLock> {
  const folder = options.lockFolder ?? DEFAULT_FOLDER;
  const me = identify(process.pid);
  if (me === null) throw new Error('/proc shows no entry for this process');
  const { command, utc, guard } = options;
  const file = publish(folder, {
    process: me,
    guard,
    bootId: bootId(),
    command,
    folder: options.folder,
    utc,
  });
  const lock: MachineLock = { file, [Symbol.dispose]: () => rmSync(file, { force: true }) };
  try {
    const begin = options.clock.monotonicMs();
    for (;;) {
      const rivals = others(folder, file).filter((other) => other.life !== 'dead');
      const alive = rivals.find((other) => other.life === 'alive');
      // Two writers of one journal would break its chain, however willing they are to share the machine.
      const sameRun = rivals.some((other) => other.holder.folder === options.folder);
      if (rivals.length === 0 || (options.share && !sameRun)) break;
      if (alive !== undefined || options.clock.monotonicMs() - begin > CLEAN_UP_MS) {
        const other = alive ?? rivals[0];
        const who = other === undefined ? 'another process' : describe(other.holder);
        throw new EngineError(
          `another rota measures on this machine: ${who}; wait for it, or pass --share-machine`,
          {
            phase: 'lock',
          },
        );
      }
      await options.clock.sleep(100, options.signal);
      options.signal?.throwIfAborted();
    }
    removeStale(folder, file);
    return lock;
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}
