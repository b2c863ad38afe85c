// What bounded an arm, in one line, from its ledger, the load of its windows and the bytes it moved. Judges nothing: the largest part
// stands first.

import { timing } from '../counters/raw-answer.ts';
import type { PassCauses } from '../records/causes.ts';
import { mean, sum } from '../stats/sums.ts';
import { CAUSE_NAMES, causesOf, type Ledgered } from '../verdict/causes.ts';
import type { Window } from '../verdict/replay.ts';
import type { Bandwidths } from './ceiling.ts';

/**
 * `CPU pool 62 % of a pass, 38.0 of 130 GB/s; file wait 21 %, 0.200 of 1.90 GB/s; rota-pool: 63.0 of 64 threads busy; others 3 % of all
 * cores; GPU 0 %`. Shares are means over the windows; what nobody reported is left out, so an empty line means that nothing is known.
 */
export function boundLine(all: readonly Ledgered[], bandwidths: Bandwidths): string {
  const windows = all.map(({ window }) => window);
  const pool = poolRate(windows, bandwidths.memoryReadBytesPerSec);
  const file = fileRate(windows, bandwidths.fileReadBytesPerSec);
  return [
    ...causeParts(causesOf(all), { pool, fileWait: file }),
    ...threadParts(windows),
    ...foreignPart(windows),
    ...gpuPart(windows),
  ].join('; ');
}

const known = (values: readonly (number | null | undefined)[]): number[] =>
  values.filter((value): value is number => typeof value === 'number');

/** A part below this share of a pass bounds nothing, unless there is a rate to show: what was read ahead is not waited for. */
const WORTH_A_WORD = 0.05;

/** The largest part first; a rate whose part nobody timed stands by itself. */
function causeParts(
  causes: PassCauses | null,
  rates: Readonly<Partial<Record<keyof PassCauses, string | null>>>,
): string[] {
  const parts = Object.entries(CAUSE_NAMES).map(([key, name]) => {
    const cause = key as keyof PassCauses;
    const moves = cause === 'fileWait' ? 'file' : name;
    return { name, moves, ms: causes?.[cause] ?? null, rate: rates[cause] ?? null };
  });
  const total = sum(known(parts.map(({ ms }) => ms)));
  const timed = parts
    .flatMap(({ name, ms, rate }) =>
      ms === null || (ms < WORTH_A_WORD * total && rate === null) ? [] : [{ name, ms, rate }],
    )
    .sort((a, b) => b.ms - a.ms)
    .map(({ name, ms, rate }, place) => {
      const share = `${name} ${Math.round((100 * ms) / total)} %${place === 0 ? ' of a pass' : ''}`;
      return rate === null ? share : `${share}, ${rate}`;
    });
  const untimed = parts.flatMap(({ moves, ms, rate }) =>
    ms === null && rate !== null ? [`${moves} ${rate}`] : [],
  );
  return [...timed, ...untimed];
}

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
function poolRate(windows: readonly Window[], ceiling: number | null): string | null {
  const bytes = known(windows.map(({ result }) => timing(result, 'pool_bytes')));
  const ms = known(windows.map(({ result }) => timing(result, 'pool_ms')));
  if (bytes.length < windows.length || ms.length < windows.length || sum(ms) <= 0) return null;
  return rate((1000 * sum(bytes)) / sum(ms), ceiling);
}

/** Over the whole of decode. */
function fileRate(windows: readonly Window[], ceiling: number | null): string | null {
  const bytes = known(windows.map(({ result }) => result.counters.bytes.file));
  const ms = known(windows.map(({ result }) => result.decodeMs));
  if (bytes.length < windows.length || ms.length < windows.length || sum(ms) <= 0 || sum(bytes) === 0)
    return null;
  return rate((1000 * sum(bytes)) / sum(ms), ceiling);
}

function foreignPart(windows: readonly Window[]): string[] {
  const shares = known(windows.map(({ load }) => load.foreignCpuShare));
  return shares.length === 0 ? [] : [`others ${Math.round(100 * mean(shares))} % of all cores`];
}

function gpuPart(windows: readonly Window[]): string[] {
  const busy = known(windows.flatMap(({ load }) => load.gpus?.map((gpu) => gpu.utilizationPercent) ?? []));
  return busy.length === 0 ? [] : [`GPU ${Math.round(mean(busy))} %`];
}
