import { expect, test } from 'vitest';
import { boundLine } from '../../../src/core/roofline/bound.ts';
import type { Window } from '../../../src/core/verdict/replay.ts';
import { makeRecord } from '../verdict/record.ts';

const windows = (change: (window: Window) => Window): Window[] =>
  makeRecord().events.flatMap((event) =>
    event.type === 'window' && event.kind === 'measure' ? [change(event)] : [],
  );
const CEILINGS = { memoryReadBytesPerSec: 130e9, fileReadBytesPerSec: 2e9 };

test('threads by family, the pool beside memory, the file beside the disk, others, the GPU', () => {
  const pool = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`rota-pool-${i + 1}`, 63 / 64]));
  const busy = windows((window) => ({
    ...window,
    load: {
      ...window.load,
      threadCpuShare: { ...pool, 'rota-strata': 0.9, 'rota-inbox': 0 },
      foreignCpuShare: 0.03,
      gpus: [
        {
          uuid: 'GPU-1',
          utilizationPercent: 0,
          ownMemoryBytes: null,
          foreignMemoryBytes: null,
          smClockMhz: null,
          powerWatts: null,
          temperatureC: null,
        },
      ],
    },
    result: { ...window.result, raw: { timings: { pool_ms: 100, pool_bytes: 3.8e9 } } },
  }));
  expect(boundLine(busy, CEILINGS)).toBe(
    'rota-pool: 63.0 of 64 threads busy; rota-strata: 0.9 of 1 thread busy; pool 38.0 of 130 GB/s; file 0.00159 of 2.00 GB/s; others 3 % of all cores; GPU 0 %',
  );
});

test('what nobody reported is left out', () => {
  const silent = windows((window) => ({
    ...window,
    load: { ...window.load, threadCpuShare: null, foreignCpuShare: null, gpus: null },
    result: { ...window.result, decodeMs: null },
  }));
  expect(boundLine(silent, CEILINGS)).toBe('');
});
