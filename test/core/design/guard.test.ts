// What trips the guard: the load of others, whatever ran.

import { expect, test } from 'vitest';
import { trips } from '../../../src/core/design/guard.ts';
import type { GpuLoad } from '../../../src/core/records/journal.ts';

const guards = { foreignCpuShare: 0.1, foreignGpuPercent: 15 };
const gpu = (more: Partial<GpuLoad>): GpuLoad => ({
  uuid: 'GPU-1',
  utilizationPercent: 90,
  ownMemoryBytes: 1,
  foreignMemoryBytes: 1,
  smClockMhz: null,
  powerWatts: null,
  temperatureC: null,
  ...more,
});

test('load above a limit trips, load at it and load that is unknown do not', () => {
  const cpu = (foreignCpuShare: number | null) => trips({ foreignCpuShare, gpus: null }, guards);
  expect(cpu(0.1)).toEqual([]);
  expect(cpu(null)).toEqual([]);
  expect(cpu(0.43)).toEqual([
    { flag: 'foreign CPU load', text: 'other programs used 43 % of all cores (limit 10 %)' },
  ]);
  const card = (more: Partial<GpuLoad>) => trips({ foreignCpuShare: 0, gpus: [gpu(more)] }, guards);
  expect(card({ utilizationPercent: 15 })).toEqual([]);
  expect(card({ foreignMemoryBytes: 0 })).toEqual([]);
  expect(card({ utilizationPercent: null })).toEqual([]);
  expect(card({})).toEqual([
    {
      flag: 'foreign processes on a busy GPU',
      text: 'other programs were on GPU GPU-1, which was 90 % busy (limit 15 %)',
    },
  ]);
});
