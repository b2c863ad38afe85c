// Owns the sampler: it watches the machine while windows run and says what the load was in each. Writes to disk only between windows.

import { closeSync, openSync } from 'node:fs';
import type { WindowLoad } from '../core/records/journal.ts';
import { appendWhole } from '../results/files.ts';
import type { Clock } from './clock.ts';
import { gpuLoads } from './gpu-load.ts';
import type { GpuMonitor } from './gpu-monitor.ts';
import { difference, loadBetween, shareOf } from './load-between.ts';
import { type LoadSnapshot, type Owner, physicalDisks, readHost, readSnapshot } from './load-snapshot.ts';

export interface OpenWindow {
  /** Reads the machine again and says what happened since the window opened. */
  close(): WindowLoad;
}

export interface Telemetry extends AsyncDisposable {
  /** The process whose family is "own". `null` between runs. */
  watch(engine: number | null): void;
  /** The process whose family is load that the protocol asks for. `null` when there is none. */
  watchBackground(pid: number | null): void;
  openWindow(label: { readonly run: string; readonly window: string }): OpenWindow;
  /** Samples that are held in memory go to the file. Never called while a window is open. */
  flush(): void;
}

interface Row {
  /** Whole milliseconds. */
  readonly t: number;
  readonly run: string;
  readonly window: string;
  readonly [key: string]: unknown;
}

function smallest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.min(...known);
}

function busyShare(before: LoadSnapshot['cpu'], after: LoadSnapshot['cpu']): number | null {
  if (before === null || after === null || after.total <= before.total) return null;
  return shareOf(after.busy - before.busy, after.total - before.total);
}

function gpusBetween(gpus: GpuMonitor, start: LoadSnapshot, end: LoadSnapshot): WindowLoad['gpus'] {
  const all = [...start.processes, ...end.processes];
  const of = (owner: Owner): Set<number> =>
    new Set(all.flatMap(([pid, each]) => (each.owner === owner ? [pid] : [])));
  const owners = { own: of('own'), background: of('background'), here: new Set(all.map(([pid]) => pid)) };
  const stretch = { fromMs: start.monotonicMs, toMs: end.monotonicMs, periodMs: gpus.periodMs };
  return gpuLoads(gpus.samples, gpus.apps, owners, stretch);
}

export function startTelemetry(options: {
  readonly clock: Clock;
  readonly periodMs: number;
  readonly file: string;
  readonly gpus: GpuMonitor | null;
}): Telemetry {
  const { clock, gpus } = options;
  const disks = physicalDisks();
  const helpers = gpus?.pids ?? [];
  let engine: number | null = null;
  let background: number | null = null;
  let timer: NodeJS.Timeout | null = null;
  let rows: Row[] = [];

  function flush(): void {
    if (timer !== null || rows.length === 0) return;
    const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    // What cannot be written now is not tried again when all of it is given up.
    rows = [];
    const descriptor = openSync(options.file, 'a');
    try {
      appendWhole(descriptor, text, options.file);
    } finally {
      closeSync(descriptor);
    }
    gpus?.forget();
  }

  function openWindow(label: { readonly run: string; readonly window: string }): OpenWindow {
    if (timer !== null) throw new Error(`telemetry: window ${label.window} opened inside another one`);
    const scope = { engine, background, helpers, disks };
    const start = readSnapshot(scope, clock.monotonicMs, 'start');
    const lowestMemory: (number | null)[] = [start.memAvailableBytes];
    let lastCpu = start.cpu;
    const sample = (): void => {
      const host = readHost(disks);
      lowestMemory.push(host.memAvailableBytes);
      rows.push({
        t: Math.round(clock.monotonicMs()),
        ...label,
        cpuBusyShare: busyShare(lastCpu, host.cpu),
        loadAverage1: host.loadAverage1,
        memAvailableBytes: host.memAvailableBytes,
        diskReadBytes: host.diskReadBytes,
      });
      lastCpu = host.cpu;
    };
    timer = setInterval(sample, options.periodMs);
    return {
      close() {
        if (timer !== null) clearInterval(timer);
        timer = null;
        const end = readSnapshot(scope, clock.monotonicMs, 'end');
        const load: WindowLoad = {
          ...loadBetween(start, end),
          memAvailableBytes: smallest([...lowestMemory, end.memAvailableBytes]),
          gpus: gpus?.alive ? gpusBetween(gpus, start, end) : null,
        };
        const engineReadBytes = difference(start.engineReadBytes, end.engineReadBytes);
        rows.push({ t: Math.round(end.monotonicMs), ...label, sum: load, engineReadBytes });
        return load;
      },
    };
  }

  return {
    watch(pid) {
      engine = pid;
    },
    watchBackground(pid) {
      background = pid;
    },
    openWindow,
    flush,
    async [Symbol.asyncDispose]() {
      if (timer !== null) clearInterval(timer);
      timer = null;
      flush();
      await gpus?.[Symbol.asyncDispose]();
    },
  };
}
