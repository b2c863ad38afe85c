// What bounded an arm, in one line, from the load of its windows and the bytes it moved. Knows windows and ceilings; judges nothing.

import { timing } from '../counters/raw-answer.ts';
import type { Window } from '../verdict/replay.ts';
import type { Bandwidths } from './ceiling.ts';

/**
 * `rota-pool: 1.9 of 2 threads busy; pool 30.1 of 31.8 GB/s; file 0.2 of 1.9 GB/s; others 3 % of all cores; GPU 0 %`. Shares are means
 * over the windows; what nobody reported is left out, so an empty line means that nothing is known.
 */
export function boundLine(windows: readonly Window[], bandwidths: Bandwidths): string {
  return [
    ...threadParts(windows),
    ...poolPart(windows, bandwidths.memoryReadBytesPerSec),
    ...filePart(windows, bandwidths.fileReadBytesPerSec),
    ...foreignPart(windows),
    ...gpuPart(windows),
  ].join('; ');
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const known = (values: readonly (number | null | undefined)[]): number[] =>
  values.filter((value): value is number => typeof value === 'number');
const mean = (values: readonly number[]): number => sum(values) / values.length;

/** Threads that differ by a number at the end are one family; only the two busiest are told. */
function threadParts(windows: readonly Window[]): string[] {
  const families = new Map<string, { busy: number; names: Set<string> }>();
  const read = windows.filter(({ load }) => load.threadCpuShare !== null);
  for (const { load } of read) {
    for (const [name, share] of Object.entries(load.threadCpuShare ?? {})) {
      const family = name.replace(/-\d+$/, '');
      const found = families.get(family) ?? { busy: 0, names: new Set<string>() };
      found.busy += share / read.length;
      found.names.add(name);
      families.set(family, found);
    }
  }
  return [...families]
    .sort(([, a], [, b]) => b.busy - a.busy)
    .slice(0, 2)
    .map(
      ([name, { busy, names }]) =>
        `${name}: ${busy.toFixed(1)} of ${names.size} thread${names.size === 1 ? '' : 's'} busy`,
    );
}

const rate = (bytesPerSec: number, ceiling: number | null): string =>
  `${(bytesPerSec / 1e9).toPrecision(3)}${ceiling === null ? '' : ` of ${(ceiling / 1e9).toPrecision(3)}`} GB/s`;

/** Over the pool's own busy time: how near memory it works when it works. */
function poolPart(windows: readonly Window[], ceiling: number | null): string[] {
  const bytes = windows.map(({ result }) => timing(result, 'pool_bytes'));
  const ms = windows.map(({ result }) => timing(result, 'pool_ms'));
  const [allBytes, allMs] = [known(bytes), known(ms)];
  if (allBytes.length < windows.length || allMs.length < windows.length || sum(allMs) <= 0) return [];
  return [`pool ${rate((1000 * sum(allBytes)) / sum(allMs), ceiling)}`];
}

/** Over the whole of decode. */
function filePart(windows: readonly Window[], ceiling: number | null): string[] {
  const bytes = known(windows.map(({ result }) => result.counters.bytes.file));
  const ms = known(windows.map(({ result }) => result.decodeMs));
  if (bytes.length < windows.length || ms.length < windows.length || sum(ms) <= 0 || sum(bytes) === 0)
    return [];
  return [`file ${rate((1000 * sum(bytes)) / sum(ms), ceiling)}`];
}

function foreignPart(windows: readonly Window[]): string[] {
  const shares = known(windows.map(({ load }) => load.foreignCpuShare));
  return shares.length === 0 ? [] : [`others ${Math.round(100 * mean(shares))} % of all cores`];
}

function gpuPart(windows: readonly Window[]): string[] {
  const busy = known(windows.flatMap(({ load }) => load.gpus?.map((gpu) => gpu.utilizationPercent) ?? []));
  return busy.length === 0 ? [] : [`GPU ${Math.round(mean(busy))} %`];
}
