// Owns one reading of the host's counters, and what two readings say of the time between them. Knows no window and no engine dialect.

import { readdirSync, readFileSync } from 'node:fs';
import {
  type CpuTicks,
  parseCpuTicks,
  parseDiskReadBytes,
  parseLoadAverage1,
  parseMeminfo,
  parseStorageReadBytes,
  TICKS_PER_SECOND,
} from './proc-parse.ts';
import { familyOf, readPidStat, threadStats } from './processes.ts';

export interface ProcessTicks {
  readonly startTicks: number;
  readonly ticks: number;
}

export interface LoadSnapshot {
  readonly monotonicMs: number;
  readonly cpu: CpuTicks | null;
  /** The engine's family and Rota's helpers, by pid. */
  readonly own: ReadonlyMap<number, ProcessTicks>;
  /** Engine threads: key `pid/tid`. Empty in a reading that did not ask for them. */
  readonly threads: ReadonlyMap<string, { readonly name: string; readonly ticks: number }>;
  /** Microseconds this process has used: finer than ticks. */
  readonly rotaMicros: number;
  readonly loadAverage1: number | null;
  readonly memAvailableBytes: number | null;
  readonly diskReadBytes: number | null;
  /** Bytes the engine's family itself read from storage. */
  readonly engineReadBytes: number | null;
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Devices that stand for hardware. Loops, mappers and RAM disks would count the same bytes again. */
export function physicalDisks(): ReadonlySet<string> {
  try {
    return new Set(readdirSync('/sys/block').filter((name) => !/^(loop|ram|zram|dm-|md|sr|fd)/.test(name)));
  } catch {
    return new Set();
  }
}

export interface SnapshotScope {
  readonly engine: number | null;
  /** Helpers that Rota started beside the engine, such as nvidia-smi. */
  readonly helpers: readonly number[];
  readonly disks: ReadonlySet<string>;
}

function ticksOf(pid: number): [number, ProcessTicks][] {
  const stat = readPidStat(pid);
  if (stat === null) return [];
  return [[pid, { startTicks: stat.startTicks, ticks: stat.ticks + stat.childTicks }]];
}

function sumOrNull(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}

/** What the whole machine says: cheap, for the sampler inside a window. */
export function readHost(
  disks: ReadonlySet<string>,
): Pick<LoadSnapshot, 'cpu' | 'loadAverage1' | 'memAvailableBytes' | 'diskReadBytes'> {
  return {
    cpu: parseCpuTicks(readOr('/proc/stat')),
    loadAverage1: parseLoadAverage1(readOr('/proc/loadavg')),
    memAvailableBytes: parseMeminfo(readOr('/proc/meminfo'), 'MemAvailable'),
    diskReadBytes: disks.size === 0 ? null : parseDiskReadBytes(readOr('/proc/diskstats'), disks),
  };
}

type Scan = Pick<LoadSnapshot, 'own' | 'threads' | 'engineReadBytes'>;
type Counters = Omit<LoadSnapshot, keyof Scan>;

/** Looks at every process: milliseconds, on a machine with many. */
function scanProcesses(scope: SnapshotScope): Scan {
  const family = scope.engine === null ? [] : familyOf(scope.engine);
  return {
    own: new Map([...family, ...scope.helpers].flatMap(ticksOf)),
    threads: new Map(
      family.flatMap((pid) =>
        threadStats(pid).map(
          (thread) => [`${pid}/${thread.pid}`, { name: thread.name, ticks: thread.ticks }] as const,
        ),
      ),
    ),
    engineReadBytes: sumOrNull(family.map((pid) => parseStorageReadBytes(readOr(`/proc/${pid}/io`)))),
  };
}

function readCounters(scope: SnapshotScope, monotonicMs: () => number): Counters {
  const { user, system } = process.cpuUsage();
  return { monotonicMs: monotonicMs(), ...readHost(scope.disks), rotaMicros: user + system };
}

/**
 * The whole reading, with the engine's family and threads. The costly scan lies outside the stretch on both sides: before the
 * counters at its start, after them at its end.
 */
export function readSnapshot(
  scope: SnapshotScope,
  monotonicMs: () => number,
  side: 'start' | 'end',
): LoadSnapshot {
  if (side === 'end') {
    const counters = readCounters(scope, monotonicMs);
    return { ...counters, ...scanProcesses(scope) };
  }
  const scan = scanProcesses(scope);
  return { ...scan, ...readCounters(scope, monotonicMs) };
}

/** Fewer ticks than this between two readings and a share would be mostly rounding. */
const MIN_TICKS = 20;

export interface HostLoad {
  readonly ownCpuShare: number | null;
  readonly foreignCpuShare: number | null;
  readonly threadCpuShare: Readonly<Record<string, number>> | null;
  readonly rotaCpuShare: number | null;
  readonly loadAverage1: number | null;
  readonly memAvailableBytes: number | null;
  readonly diskReadBytes: number | null;
}

function ownTicks(start: LoadSnapshot, end: LoadSnapshot): number {
  let ticks = 0;
  for (const [pid, after] of end.own) {
    const before = start.own.get(pid);
    ticks += after.ticks - (before?.startTicks === after.startTicks ? before.ticks : 0);
  }
  return ticks + ((end.rotaMicros - start.rotaMicros) / 1e6) * TICKS_PER_SECOND;
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
    shares.set(after.name, (shares.get(after.name) ?? 0) + ticks / TICKS_PER_SECOND / seconds);
  }
  return Object.fromEntries([...shares].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function loadBetween(start: LoadSnapshot, end: LoadSnapshot): HostLoad {
  const seconds = (end.monotonicMs - start.monotonicMs) / 1000;
  const total = start.cpu !== null && end.cpu !== null ? end.cpu.total - start.cpu.total : 0;
  const busy = start.cpu !== null && end.cpu !== null ? end.cpu.busy - start.cpu.busy : 0;
  const own = ownTicks(start, end);
  const known = total >= MIN_TICKS;
  return {
    ownCpuShare: known ? Math.min(1, own / total) : null,
    // The two counters tick apart, so their difference may fall a little below nothing.
    foreignCpuShare: known ? Math.max(0, (busy - own) / total) : null,
    threadCpuShare: threadShares(start, end, seconds),
    rotaCpuShare: seconds > 0 ? (end.rotaMicros - start.rotaMicros) / 1e6 / seconds : null,
    loadAverage1: end.loadAverage1,
    memAvailableBytes: end.memAvailableBytes,
    diskReadBytes:
      start.diskReadBytes !== null && end.diskReadBytes !== null
        ? end.diskReadBytes - start.diskReadBytes
        : null,
  };
}
