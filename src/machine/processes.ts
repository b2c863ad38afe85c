// Owns who is who among processes: alive or not, whose child, and which of them belong to an engine. Signals nobody.

import { readdirSync, readFileSync } from 'node:fs';
import { type PidStat, parsePidStat } from './proc-parse.ts';

/** A pid alone may be reused; with its start time it names one process. */
export interface ProcessId {
  readonly pid: number;
  readonly startTicks: number;
}

export function readPidStat(pid: number): PidStat | null {
  try {
    return parsePidStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return null;
  }
}

export function identify(pid: number): ProcessId | null {
  const stat = readPidStat(pid);
  return stat === null ? null : { pid, startTicks: stat.startTicks };
}

/** A zombie is not alive: it holds nothing and only waits for its parent. */
export function isAlive(id: ProcessId): boolean {
  const stat = readPidStat(id.pid);
  return stat !== null && stat.startTicks === id.startTicks && stat.state !== 'Z' && stat.state !== 'X';
}

function pidsInProc(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/**
 * The environment variable that marks everything an engine starts. Children inherit it even when they leave the
 * process group or the session, so that no grandchild is lost.
 */
export const LEASH = 'ROTA_LEASH';

function carriesLeash(pid: number, leash: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${LEASH}=${leash}\0`);
  } catch {
    return false;
  }
}

/** Every live process of the engine: same group, same session, or on its leash. Reads all of /proc: never in a window. */
export function membersOf(engine: { readonly group: number | null; readonly leash: string }): PidStat[] {
  const members: PidStat[] = [];
  for (const pid of pidsInProc()) {
    const stat = readPidStat(pid);
    if (stat === null || stat.state === 'Z' || stat.state === 'X') continue;
    const together = engine.group !== null && (stat.group === engine.group || stat.session === engine.group);
    if (together || carriesLeash(pid, engine.leash)) members.push(stat);
  }
  return members;
}

/** Every process there is: one pass over /proc, so it is read before and after a window, never inside one. */
export function allProcesses(): PidStat[] {
  return pidsInProc().flatMap((pid) => readPidStat(pid) ?? []);
}

/**
 * The process, what it started and what shares its group or session.
 * (`task/TID/children` would be cheaper than a look at all, but kernels may be built without it.)
 */
export function familyOf(pid: number, all: readonly PidStat[] = allProcesses()): number[] {
  const family = new Set([pid]);
  for (let size = 0; size !== family.size; ) {
    size = family.size;
    for (const stat of all) {
      if (family.has(stat.parent) || stat.group === pid || stat.session === pid) family.add(stat.pid);
    }
  }
  return [...family];
}

export function threadStats(pid: number): PidStat[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
      try {
        return parsePidStat(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')) ?? [];
      } catch {
        return [];
      }
    });
  } catch {
    return [];
  }
}
