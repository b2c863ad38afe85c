// GPU samples over a stretch of time, own and foreign memory apart.

import { expect, test } from 'vitest';
import { gpuLoads } from '../../src/machine/gpu-load.ts';
import type { TimedComputeApp, TimedGpuSample } from '../../src/machine/gpu-monitor.ts';

const MIB = 1024 ** 2;

function sample(
  monotonicMs: number,
  uuid: string,
  percent: number | null,
  usedMib: number | null,
): TimedGpuSample {
  return {
    monotonicMs,
    uuid,
    utilizationPercent: percent,
    memoryUsedBytes: usedMib === null ? null : usedMib * MIB,
    smClockMhz: null,
    powerWatts: 100 + monotonicMs,
    temperatureC: 50,
    throttles: null,
  };
}

function app(monotonicMs: number, uuid: string, pid: number | null, mib: number): TimedComputeApp {
  return { monotonicMs, uuid, pid, usedBytes: mib * MIB };
}

const stretch = { fromMs: 100, toMs: 300, periodMs: 100 };
const own = { own: new Set([7]), background: new Set([9]), here: new Set([7, 8, 9]) };

test('means over the stretch; the newest word of each process; cards by name', () => {
  const samples = [
    sample(0, 'GPU-b', 99, 0),
    sample(150, 'GPU-b', 20, 300),
    sample(250, 'GPU-b', 40, 310),
    sample(200, 'GPU-a', null, null),
    sample(400, 'GPU-b', 99, 0),
  ];
  const apps = [
    app(150, 'GPU-b', 7, 100),
    app(250, 'GPU-b', 7, 110),
    app(150, 'GPU-b', 8, 200),
    app(0, 'GPU-b', 9, 50),
  ];
  expect(gpuLoads(samples, apps, own, stretch)).toEqual([
    {
      uuid: 'GPU-a',
      utilizationPercent: null,
      ownMemoryBytes: null,
      foreignMemoryBytes: null,
      smClockMhz: null,
      powerWatts: 300,
      temperatureC: 50,
    },
    {
      uuid: 'GPU-b',
      utilizationPercent: 30,
      ownMemoryBytes: 110 * MIB,
      foreignMemoryBytes: 200 * MIB,
      smClockMhz: null,
      powerWatts: 300,
      temperatureC: 50,
    },
  ]);
});

test('a full card without a listed process belongs to nobody known, an empty one to nobody', () => {
  const owners = (usedMib: number, apps: TimedComputeApp[] | null) => {
    const [load] = gpuLoads([sample(200, 'GPU-a', 1, usedMib)], apps, own, stretch) ?? [];
    return [load?.ownMemoryBytes, load?.foreignMemoryBytes];
  };
  expect(owners(5000, [])).toEqual([null, null]);
  expect(owners(100, [])).toEqual([0, 0]);
  expect(owners(100, null)).toEqual([null, null]);
  expect(owners(100, [app(200, 'GPU-a', null, 90)])).toEqual([null, null]);
});

test('a stretch shorter than a period is spoken for by the sample before it; an old sample by nobody', () => {
  const short = { fromMs: 290, toMs: 295, periodMs: 100 };
  expect(gpuLoads([sample(250, 'GPU-a', 33, 0)], [], own, short)?.[0]?.utilizationPercent).toBe(33);
  expect(gpuLoads([sample(10, 'GPU-a', 33, 0)], [], own, short)).toBeNull();
  expect(gpuLoads([], [], own, short)).toBeNull();
});

test('what throttled it at any time of the stretch; not known where no row tells', () => {
  const row = (monotonicMs: number, throttles: TimedGpuSample['throttles']): TimedGpuSample => ({
    ...sample(monotonicMs, 'GPU-a', 90, 1),
    throttles,
  });
  const seen = (...rows: TimedGpuSample[]) => gpuLoads(rows, null, own, stretch)?.[0]?.throttles;
  expect(seen(row(150, []), row(200, ['power cap']), row(250, null))).toEqual(['power cap']);
  expect(seen(row(150, ['power cap']), row(200, ['hardware slowdown', 'power cap']))).toEqual([
    'hardware slowdown',
    'power cap',
  ]);
  expect(seen(row(50, ['power cap']), row(150, []))).toEqual([]);
  expect(seen(row(150, null))).toBeUndefined();
});

test.each([
  ['none of them is here', [8001, 8002], null],
  ['the engine is listed: what is not here has ended', [7, 8001], 200 * MIB],
  ['all are here, the engine is not on the card', [8], 200 * MIB],
])('pids of another system say nothing about whose memory it is: %s', (_, pids, foreign) => {
  const apps = pids.map((pid) => app(200, 'GPU-a', pid, 200));
  const [load] = gpuLoads([sample(200, 'GPU-a', 90, 400)], apps, own, stretch) ?? [];
  expect(load?.foreignMemoryBytes).toBe(foreign);
});
