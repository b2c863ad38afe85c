// Owns the summary of GPU samples over a stretch of time, own and foreign memory apart. Pure: rows in, numbers out.

import type { GpuLoad } from '../core/records/journal.ts';
import type { TimedComputeApp, TimedGpuSample } from './gpu-monitor.ts';

interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
  /** How often rows come: a process that uses the card is seen at least once in two periods. */
  readonly periodMs: number;
}

/** Memory that no listed process explains. The driver keeps some; more than this and the list does not tell the whole. */
const UNEXPLAINED_BYTES = 1024 ** 3;

function mean(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

function within<T extends { monotonicMs: number }>(rows: readonly T[], stretch: Stretch): T[] {
  const inside = rows.filter((row) => row.monotonicMs >= stretch.fromMs && row.monotonicMs <= stretch.toMs);
  if (inside.length > 0) return inside;
  // A stretch shorter than a period: the newest row that is not older than two periods speaks for it.
  return rows.filter(
    (row) => row.monotonicMs <= stretch.toMs && row.monotonicMs >= stretch.fromMs - 2 * stretch.periodMs,
  );
}

/** Pids of the engine, and of what the protocol wants beside it; all others are foreign. */
interface Owners {
  readonly own: ReadonlySet<number>;
  readonly background: ReadonlySet<number>;
  /** All processes that can be seen from here. */
  readonly here: ReadonlySet<number>;
}

/** The newest word about each process on one card. `null` when a process hides its pid or its memory, or pids are of another system. */
function memoryByOwner(
  apps: readonly TimedComputeApp[],
  uuid: string,
  owners: Owners,
): { own: number; foreign: number; background: number } | null {
  const latest = new Map<number, number>();
  for (const app of apps) {
    if (app.uuid !== uuid) continue;
    if (app.pid === null || app.usedBytes === null) return null;
    latest.set(app.pid, app.usedBytes);
  }
  const pids = [...latest.keys()];
  // A container's pids are others than the driver's: then the engine itself may be the stranger. Where it is listed, they are the same.
  if (!pids.some((pid) => owners.own.has(pid)) && pids.some((pid) => !owners.here.has(pid))) return null;
  const sums = { own: 0, foreign: 0, background: 0 };
  for (const [pid, bytes] of latest) {
    if (owners.background.has(pid)) sums.background += bytes;
    else sums[owners.own.has(pid) ? 'own' : 'foreign'] += bytes;
  }
  return sums;
}

/** Between two samples it may have throttled unseen; what was seen once did happen. */
function throttlesOf(rows: readonly TimedGpuSample[]): Pick<GpuLoad, 'throttles'> {
  const told = rows.flatMap(({ throttles }) => (throttles === null ? [] : [throttles]));
  return told.length === 0 ? {} : { throttles: [...new Set(told.flat())].sort() };
}

export function gpuLoads(
  samples: readonly TimedGpuSample[],
  apps: readonly TimedComputeApp[] | null,
  owners: Owners,
  stretch: Stretch,
): GpuLoad[] | null {
  const inside = within(samples, stretch);
  if (inside.length === 0) return null;
  const uuids = [...new Set(inside.map((row) => row.uuid))].sort();
  return uuids.map((uuid) => {
    const rows = inside.filter((row) => row.uuid === uuid);
    const used = mean(rows.slice(-1).map((row) => row.memoryUsedBytes));
    const memory = apps === null ? null : memoryByOwner(within(apps, stretch), uuid, owners);
    // In a container the list may be empty while the card is full: then nobody knows whose memory it is.
    const known = memory === null ? 0 : memory.own + memory.foreign + memory.background;
    const told = memory !== null && used !== null && used - known < UNEXPLAINED_BYTES;
    return {
      uuid,
      utilizationPercent: mean(rows.map((row) => row.utilizationPercent)),
      ownMemoryBytes: told ? memory.own : null,
      foreignMemoryBytes: told ? memory.foreign : null,
      smClockMhz: mean(rows.map((row) => row.smClockMhz)),
      powerWatts: mean(rows.map((row) => row.powerWatts)),
      temperatureC: mean(rows.map((row) => row.temperatureC)),
      ...throttlesOf(rows),
    };
  });
}
