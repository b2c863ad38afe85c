// Owns one reading of the host's counters and of every process. Knows no window and no engine dialect.

import { readdirSync, readFileSync } from 'node:fs';
import {
  type CpuTicks,
  type PidStat,
  parseCpuTicks,
  parseDiskReadBytes,
  parseLoadAverage1,
  parseMeminfo,
  parseStorageReadBytes,
} from './proc-parse.ts';
import { allProcesses, familyOf, threadStats } from './processes.ts';

/**
 * `own`: the engine's family and Rota's helpers. `background`: load that the protocol itself asks for. `kernel`: its threads, which work
 * for whoever asked, so mostly for the engine. `foreign`: all the rest.
 */
export type Owner = 'own' | 'rota' | 'background' | 'kernel' | 'foreign';

export interface ProcessTicks {
  readonly owner: Owner;
  readonly name: string;
  readonly parent: number;
  readonly startTicks: number;
  readonly ticks: number;
  /** Of its children that ended. */
  readonly childTicks: number;
}

export interface LoadSnapshot {
  readonly monotonicMs: number;
  readonly cpu: CpuTicks | null;
  /** By pid. */
  readonly processes: ReadonlyMap<number, ProcessTicks>;
  /** Engine threads: key `pid/tid`. Empty in a reading that did not ask for them. */
  readonly threads: ReadonlyMap<string, { readonly name: string; readonly ticks: number }>;
  /** Microseconds this process has used: finer than ticks. */
  readonly rotaMicros: number;
  readonly loadAverage1: number | null;
  readonly memAvailableBytes: number | null;
  readonly diskReadBytes: number | null;
  /** Bytes the engine's family itself read from storage. */
  readonly engineReadBytes: number | null;
  /** The same of the background. Null: there is none. */
  readonly backgroundReadBytes: number | null;
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
  /** Its processes are neither own nor foreign. Null: nothing is asked to run beside. */
  readonly background: number | null;
  readonly disks: ReadonlySet<string>;
}

/** The thread from which the kernel starts its others. */
const KTHREADD = 2;

type OwnerOf = (stat: PidStat) => Owner;

function ownerIn(scope: SnapshotScope, family: readonly number[], background: readonly number[]): OwnerOf {
  const own = new Set([...family, ...scope.helpers]);
  const beside = new Set(background);
  return ({ pid, parent }) => {
    if (own.has(pid)) return 'own';
    if (pid === process.pid) return 'rota';
    if (beside.has(pid)) return 'background';
    return pid === KTHREADD || parent === KTHREADD ? 'kernel' : 'foreign';
  };
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

type Scan = Pick<LoadSnapshot, 'processes' | 'threads' | 'engineReadBytes' | 'backgroundReadBytes'>;
type Counters = Omit<LoadSnapshot, keyof Scan>;

const readBytesOf = (pids: readonly number[]): number | null =>
  sumOrNull(pids.map((pid) => parseStorageReadBytes(readOr(`/proc/${pid}/io`))));

/** Looks at every process: milliseconds, on a machine with many. */
function scanProcesses(scope: SnapshotScope): Scan {
  const all = allProcesses();
  const family = scope.engine === null ? [] : familyOf(scope.engine, all);
  const background = scope.background === null ? [] : familyOf(scope.background, all);
  const ownerOf = ownerIn(scope, family, background);
  return {
    processes: new Map(
      all.map((stat) => {
        const { pid, name, parent, startTicks, ticks, childTicks } = stat;
        return [pid, { owner: ownerOf(stat), name, parent, startTicks, ticks, childTicks }];
      }),
    ),
    threads: new Map(
      family.flatMap((pid) =>
        threadStats(pid).map(
          (thread) => [`${pid}/${thread.pid}`, { name: thread.name, ticks: thread.ticks }] as const,
        ),
      ),
    ),
    engineReadBytes: readBytesOf(family),
    backgroundReadBytes: readBytesOf(background),
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
