// Owns what two readings of the host say of the time between them: whose work it was. Pure: no file, no clock.

import type { ForeignProgram, WindowLoad } from '../core/records/journal.ts';
import type { LoadSnapshot, Owner } from './load-snapshot.ts';
import { TICKS_PER_SECOND } from './proc-parse.ts';

/** Fewer ticks than this between two readings and a share would be mostly rounding. */
const MIN_TICKS = 20;

/** Of ticks of a hundredth of a second: more digits are none of the machine's, and most of what a record holds. */
export const shareOf = (part: number, whole: number): number => Number((part / whole).toPrecision(6));

export type HostLoad = Omit<WindowLoad, 'gpus'>;

type Processes = LoadSnapshot['processes'];

/** Ticks by process of the later reading, with those of its children that ended in between. */
function usedBetween(start: Processes, end: Processes): Map<number, number> {
  /** What children that have gone had used before: their parents are given all of it when they end. */
  const before = new Map<number, number>();
  for (const [pid, { startTicks, parent, ticks, childTicks }] of start) {
    if (end.get(pid)?.startTicks === startTicks) continue;
    before.set(parent, (before.get(parent) ?? 0) + ticks + childTicks);
  }
  return new Map(
    [...end].map(([pid, after]) => {
      const known = start.get(pid);
      // A pid that was used again is another process: all of its time is new.
      if (known?.startTicks !== after.startTicks) return [pid, after.ticks + after.childTicks];
      const children = after.childTicks - known.childTicks - (before.get(pid) ?? 0);
      return [pid, after.ticks - known.ticks + Math.max(0, children)];
    }),
  );
}

function ticksOf(owner: Owner, used: ReadonlyMap<number, number>, end: Processes): number {
  return [...used].reduce((sum, [pid, ticks]) => sum + (end.get(pid)?.owner === owner ? ticks : 0), 0);
}

/** More names than these say no more, and a program below this part of a core disturbs nobody. */
const NAMED_PROGRAMS = 3;
const NAMED_CORES = 0.02;

/** The programs of others that used most. One that began and ended in between is seen as its parent. */
function programsOf(used: ReadonlyMap<number, number>, end: Processes, seconds: number): ForeignProgram[] {
  const cores = new Map<string, number>();
  for (const [pid, ticks] of used) {
    const found = end.get(pid);
    if (found?.owner !== 'foreign') continue;
    cores.set(found.name, (cores.get(found.name) ?? 0) + ticks / TICKS_PER_SECOND / seconds);
  }
  return [...cores]
    .map(([name, each]) => ({ name, cores: Number(each.toFixed(3)) }))
    .filter((program) => program.cores >= NAMED_CORES)
    .sort((a, b) => b.cores - a.cores || (a.name < b.name ? -1 : 1))
    .slice(0, NAMED_PROGRAMS);
}

/** Threads of one name are added up: a pool is read as a whole. */
function threadShares(
  start: LoadSnapshot,
  end: LoadSnapshot,
  seconds: number,
): Record<string, number> | null {
  if (end.threads.size === 0 || seconds <= 0) return null;
  const shares = new Map<string, number>();
  for (const [key, after] of end.threads) {
    const ticks = after.ticks - (start.threads.get(key)?.ticks ?? 0);
    shares.set(after.name, (shares.get(after.name) ?? 0) + ticks);
  }
  return Object.fromEntries(
    [...shares]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, ticks]) => [name, shareOf(ticks / TICKS_PER_SECOND, seconds)]),
  );
}

export function difference(before: number | null, after: number | null): number | null {
  return before === null || after === null ? null : after - before;
}

/**
 * Foreign is what was busy and is nobody else's: not the engine's, not Rota's, not the background's, and not the kernel's own, whose
 * threads and interrupts work for whoever asked. An arm that reads more from its file must not look disturbed for it. Time that the
 * hypervisor gave to other guests is foreign, and told apart as well.
 */
export function loadBetween(start: LoadSnapshot, end: LoadSnapshot): HostLoad {
  const seconds = (end.monotonicMs - start.monotonicMs) / 1000;
  const [before, after] = [start.cpu, end.cpu];
  const total = before !== null && after !== null ? after.total - before.total : 0;
  const used = usedBetween(start.processes, end.processes);
  const rotaSeconds = (end.rotaMicros - start.rotaMicros) / 1e6;
  const own = ticksOf('own', used, end.processes) + rotaSeconds * TICKS_PER_SECOND;
  const background = ticksOf('background', used, end.processes);
  const common = {
    threadCpuShare: threadShares(start, end, seconds),
    rotaCpuShare: seconds > 0 ? shareOf(rotaSeconds, seconds) : null,
    loadAverage1: end.loadAverage1,
    memAvailableBytes: end.memAvailableBytes,
    diskReadBytes: difference(start.diskReadBytes, end.diskReadBytes),
  };
  if (before === null || after === null || total < MIN_TICKS)
    return { ownCpuShare: null, foreignCpuShare: null, ...common };
  const kernel = ticksOf('kernel', used, end.processes) + after.interrupts - before.interrupts;
  const busy = after.busy - before.busy;
  const isBeside = [...end.processes.values()].some(({ owner }) => owner === 'background');
  return {
    ownCpuShare: Math.min(1, shareOf(own, total)),
    // The counters tick apart, so their difference may fall a little below nothing.
    foreignCpuShare: Math.max(0, shareOf(busy - own - background - kernel, total)),
    cores: after.cores,
    stolenCpuShare: shareOf(after.stolen - before.stolen, total),
    kernelCpuShare: shareOf(kernel, total),
    foreignPrograms: seconds > 0 ? programsOf(used, end.processes, seconds) : [],
    ...(isBeside
      ? {
          backgroundCpuShare: shareOf(background, total),
          backgroundReadBytes: difference(start.backgroundReadBytes, end.backgroundReadBytes),
        }
      : {}),
    ...common,
  };
}
