// Two readings of the host and what they say of the time between: shares of own and foreign load.

import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import {
  type LoadSnapshot,
  loadBetween,
  physicalDisks,
  readSnapshot,
} from '../../src/machine/load-snapshot.ts';

const now = (): number => performance.now();

const base: LoadSnapshot = {
  monotonicMs: 0,
  cpu: { total: 1000, busy: 100, stolen: 0, cores: 2 },
  own: new Map([[7, { startTicks: 1, ticks: 50 }]]),
  threads: new Map([['7/7', { name: 'main', ticks: 10 }]]),
  rotaMicros: 0,
  loadAverage1: 1,
  memAvailableBytes: 1000,
  diskReadBytes: 100,
  engineReadBytes: null,
};

const after: LoadSnapshot = {
  ...base,
  monotonicMs: 2000,
  cpu: { total: 1400, busy: 300, stolen: 0, cores: 2 },
  own: new Map([
    [7, { startTicks: 1, ticks: 130 }],
    // A pid that was used again: all of its time is new.
    [8, { startTicks: 99, ticks: 20 }],
  ]),
  threads: new Map([
    ['7/7', { name: 'main', ticks: 30 }],
    ['7/9', { name: 'pool', ticks: 100 }],
    ['7/10', { name: 'pool', ticks: 100 }],
  ]),
  rotaMicros: 40_000,
  diskReadBytes: 612,
};

test('own is the family and Rota, foreign is what else was busy', () => {
  expect(loadBetween(base, after)).toEqual({
    ownCpuShare: 104 / 400,
    foreignCpuShare: 96 / 400,
    threadCpuShare: { main: 0.1, pool: 1 },
    rotaCpuShare: 0.02,
    loadAverage1: 1,
    memAvailableBytes: 1000,
    diskReadBytes: 512,
  });
});

test('a stretch of a few ticks, or no counter, gives no share', () => {
  const short = { ...after, cpu: { total: 1010, busy: 110, stolen: 0, cores: 2 } };
  expect(loadBetween(base, short)).toMatchObject({ ownCpuShare: null, foreignCpuShare: null });
  expect(loadBetween({ ...base, cpu: null }, after)).toMatchObject({
    ownCpuShare: null,
    foreignCpuShare: null,
  });
  expect(loadBetween({ ...base, diskReadBytes: null }, after).diskReadBytes).toBeNull();
  expect(loadBetween(base, { ...after, threads: new Map() }).threadCpuShare).toBeNull();
});

test('counters that tick apart never make a negative load', () => {
  const calm = { ...after, cpu: { total: 1400, busy: 101, stolen: 0, cores: 2 } };
  expect(loadBetween(base, calm).foreignCpuShare).toBe(0);
});

test('a child that burns a core is seen as own, with its thread by name', async () => {
  const child = spawn(process.execPath, ['-e', 'for (const end = Date.now() + 1500; Date.now() < end;);']);
  const { pid } = child;
  if (pid === undefined) throw new Error('no child');
  try {
    await new Promise((resolve) => setTimeout(resolve, 200));
    const scope = { engine: pid, helpers: [], disks: physicalDisks() };
    const start = readSnapshot(scope, now, 'start');
    await new Promise((resolve) => setTimeout(resolve, 600));
    const load = loadBetween(start, readSnapshot(scope, now, 'end'));
    // Others may share its core: what it got is a good part of one, and all of it is its own.
    expect(load.threadCpuShare?.['node']).toBeGreaterThan(0.2);
    expect(load.ownCpuShare).toBeGreaterThan(0.05);
    expect(load.memAvailableBytes).toBeGreaterThan(0);
  } finally {
    child.kill('SIGKILL');
  }
});
