import { expect, test } from 'vitest';
import type { GpuLoad } from '../../../src/core/records/journal.ts';
import { boundLine } from '../../../src/core/roofline/bound.ts';
import type { Ledgered } from '../../../src/core/verdict/causes.ts';
import type { Window } from '../../../src/core/verdict/replay.ts';
import { makeRecord } from '../verdict/record.ts';

const windows = (change: (window: Window) => Window): Ledgered[] =>
  makeRecord().events.flatMap((event) =>
    event.type === 'window' && event.kind === 'measure' ? [{ window: change(event), sums: null }] : [],
  );
const CEILINGS = { memoryReadBytesPerSec: 130e9, fileReadBytesPerSec: 2e9 };

const GPU: GpuLoad = {
  uuid: 'GPU-1',
  utilizationPercent: 0,
  ownMemoryBytes: null,
  foreignMemoryBytes: null,
  smClockMhz: null,
  powerWatts: null,
  temperatureC: null,
};
const POOL = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`rota-pool-${i + 1}`, 63 / 64]));

/** A window of 40 passes in 630 ms, the pool busy in 400 of them, all of the cores' threads with it. */
const busy = windows((window) => ({
  ...window,
  load: {
    ...window.load,
    threadCpuShare: { ...POOL, 'rota-strata': 0.9, 'rota-inbox': 0 },
    foreignCpuShare: 0.03,
    gpus: [GPU],
  },
  result: { ...window.result, raw: { timings: { pool_ms: 400, pool_bytes: 15.2e9 } } },
}));

test('the largest part of a pass first, with its rate beside what was measured; then threads, others, the GPU', () => {
  expect(boundLine(busy, CEILINGS)).toBe(
    'CPU pool 63 % of a pass, 38.0 of 130 GB/s; other 37 %; file 0.00159 of 2.00 GB/s; rota-pool: 63.0 of 64 threads busy; rota-strata: 0.9 of 1 thread busy; others 3 % of all cores; GPU 0 %',
  );
});

test('with a ledger every part of the pass is told, those of a twentieth and more', () => {
  const nothing = { hit: null, pcie: null, cpu: null, file: null };
  const ms = { total: 630, draft: 10, dense: 100, experts: 500, pool: 200, fileWait: 290 };
  const ledgered = busy.map(({ window }) => ({
    window: { ...window, load: { ...window.load, threadCpuShare: null } },
    sums: {
      ...{ request: 1, passes: 40, rows: null, offered: null, accepted: null, ms },
      ...{ bySource: { ...nothing, skipped: null }, bytes: { ...nothing, dense: null, engram: null } },
    },
  }));
  expect(boundLine(ledgered, CEILINGS)).toBe(
    'file wait 46 % of a pass, 0.00159 of 2.00 GB/s; CPU pool 32 %, 38.0 of 130 GB/s; dense half 16 %; others 3 % of all cores; GPU 0 %',
  );
});

test('what nobody reported is left out', () => {
  const silent = windows((window) => ({
    ...window,
    load: { ...window.load, threadCpuShare: null, foreignCpuShare: null, gpus: null },
    result: { ...window.result, decodeMs: null },
  }));
  expect(boundLine(silent, CEILINGS)).toBe('');
  expect(boundLine([], CEILINGS)).toBe('');
});
