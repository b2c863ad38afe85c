// What two readings of the host say of the time between: whose work it was.

import { expect, test } from 'vitest';
import { loadBetween } from '../../src/machine/load-between.ts';
import type { LoadSnapshot, Owner, ProcessTicks } from '../../src/machine/load-snapshot.ts';

function proc(owner: Owner, ticks: number, more: Partial<ProcessTicks> = {}): ProcessTicks {
  return { owner, name: owner, parent: 1, startTicks: 1, ticks, childTicks: 0, ...more };
}

const base: LoadSnapshot = {
  monotonicMs: 0,
  cpu: { total: 1000, busy: 100, stolen: 4, interrupts: 2, cores: 2 },
  processes: new Map([[7, proc('own', 50)]]),
  threads: new Map([['7/7', { name: 'main', ticks: 10 }]]),
  rotaMicros: 0,
  loadAverage1: 1,
  memAvailableBytes: 1000,
  diskReadBytes: 100,
  engineReadBytes: null,
  backgroundReadBytes: null,
};

const after: LoadSnapshot = {
  ...base,
  monotonicMs: 2000,
  cpu: { total: 1400, busy: 300, stolen: 4, interrupts: 2, cores: 2 },
  processes: new Map([
    [7, proc('own', 130)],
    // A pid that was used again: all of its time is new.
    [8, proc('own', 20, { startTicks: 99 })],
  ]),
  threads: new Map([
    ['7/7', { name: 'main', ticks: 30 }],
    ['7/9', { name: 'pool', ticks: 100 }],
    ['7/10', { name: 'pool', ticks: 100 }],
  ]),
  rotaMicros: 40_000,
  diskReadBytes: 612,
};

const between = (before: readonly [number, ProcessTicks][], later: readonly [number, ProcessTicks][]) =>
  loadBetween({ ...base, processes: new Map(before) }, { ...after, processes: new Map(later) });

test('own is the family and Rota, foreign is what else was busy', () => {
  expect(loadBetween(base, after)).toEqual({
    ownCpuShare: 104 / 400,
    foreignCpuShare: 96 / 400,
    cores: 2,
    stolenCpuShare: 0,
    kernelCpuShare: 0,
    foreignPrograms: [],
    threadCpuShare: { main: 0.1, pool: 1 },
    rotaCpuShare: 0.02,
    loadAverage1: 1,
    memAvailableBytes: 1000,
    diskReadBytes: 512,
  });
});

test('the kernel works for whoever asked: its threads and interrupts are not foreign; stolen time is, and told apart', () => {
  const cpu = { total: 1400, busy: 300, stolen: 24, interrupts: 12, cores: 2 };
  const load = loadBetween(
    { ...base, processes: new Map([[70, proc('kernel', 5)]]) },
    { ...after, cpu, processes: new Map([[70, proc('kernel', 45)]]) },
  );
  expect(load).toMatchObject({
    ownCpuShare: 4 / 400,
    kernelCpuShare: 50 / 400,
    stolenCpuShare: 20 / 400,
    foreignCpuShare: (200 - 4 - 50) / 400,
  });
});

test('the background is neither own nor foreign, and its dose is told', () => {
  const load = loadBetween(
    { ...base, processes: new Map([[9, proc('background', 10)]]), backgroundReadBytes: 5 },
    { ...after, processes: new Map([[9, proc('background', 110)]]), backgroundReadBytes: 1005 },
  );
  expect(load).toMatchObject({
    backgroundCpuShare: 100 / 400,
    backgroundReadBytes: 1000,
    foreignCpuShare: (200 - 4 - 100) / 400,
  });
  expect(loadBetween(base, after)).not.toHaveProperty('backgroundCpuShare');
});

test('foreign programs are named by what they used, the largest first; those of the same name together', () => {
  const named = (name: string, ticks: number) => proc('foreign', ticks, { name });
  const load = between(
    [
      [20, named('node', 100)],
      [21, named('cc1plus', 100)],
      [22, named('cc1plus', 0)],
      [23, named('idle', 7)],
    ],
    [
      [20, named('node', 130)],
      [21, named('cc1plus', 120)],
      [22, named('cc1plus', 40)],
      [23, named('idle', 9)],
      [24, named('cron', 10)],
    ],
  );
  expect(load.foreignPrograms).toEqual([
    { name: 'cc1plus', cores: 0.3 },
    { name: 'node', cores: 0.15 },
    { name: 'cron', cores: 0.05 },
  ]);
});

test('a child that ended is counted with its parent, from the start of the window on and not before', () => {
  const load = between(
    [
      [20, proc('foreign', 10, { name: 'make' })],
      [21, proc('foreign', 500, { name: 'cc1plus', parent: 20 })],
    ],
    [[20, proc('foreign', 12, { name: 'make', childTicks: 560 })]],
  );
  expect(load.foreignPrograms).toEqual([{ name: 'make', cores: 0.31 }]);
  const own = between(
    [
      [7, proc('own', 10)],
      [8, proc('own', 500, { parent: 7 })],
    ],
    [[7, proc('own', 12, { childTicks: 560 })]],
  );
  expect(own.ownCpuShare).toBe((2 + 60 + 4) / 400);
});

test('a stretch of a few ticks, or no counter, gives no share', () => {
  const short = { ...after, cpu: { total: 1010, busy: 110, stolen: 4, interrupts: 2, cores: 2 } };
  const unknown = { ownCpuShare: null, foreignCpuShare: null };
  expect(loadBetween(base, short)).toMatchObject(unknown);
  expect(loadBetween(base, short)).not.toHaveProperty('foreignPrograms');
  expect(loadBetween({ ...base, cpu: null }, after)).toMatchObject(unknown);
  expect(loadBetween({ ...base, diskReadBytes: null }, after).diskReadBytes).toBeNull();
  expect(loadBetween(base, { ...after, threads: new Map() }).threadCpuShare).toBeNull();
});

test('counters that tick apart never make a negative load', () => {
  const calm = { ...after, cpu: { total: 1400, busy: 101, stolen: 4, interrupts: 2, cores: 2 } };
  expect(loadBetween(base, calm).foreignCpuShare).toBe(0);
});
