// Has a stopped engine given its memory back?

import { expect, test } from 'vitest';
import { systemClock } from '../../src/machine/clock.ts';
import { isReleased, type MemoryState, readMemory, waitForRelease } from '../../src/machine/memory.ts';

const GIB = 1024 ** 3;
const before: MemoryState = {
  availableBytes: 20 * GIB,
  totalBytes: 24 * GIB,
  gpuUsedBytes: { 'GPU-a': GIB },
};

test.each([
  ['all of it', { availableBytes: 20 * GIB, gpuUsedBytes: { 'GPU-a': GIB } }, true],
  ['a little less: others live too', { availableBytes: 19.4 * GIB, gpuUsedBytes: { 'GPU-a': GIB } }, true],
  ['host memory is missing', { availableBytes: 18 * GIB, gpuUsedBytes: { 'GPU-a': GIB } }, false],
  ['GPU memory is missing', { availableBytes: 20 * GIB, gpuUsedBytes: { 'GPU-a': 2 * GIB } }, false],
  ['the driver went silent: the host decides', { availableBytes: 20 * GIB, gpuUsedBytes: null }, true],
  ['nothing can be read', { availableBytes: null, gpuUsedBytes: null }, null],
])('%s', (_, now, expected) => {
  expect(isReleased(before, { totalBytes: 24 * GIB, ...now })).toBe(expected);
});

test('waits until it is back, and no longer than told', async () => {
  const states = [18 * GIB, 19 * GIB, 20 * GIB];
  const read = (): MemoryState => ({ ...before, availableBytes: states.shift() ?? null });
  expect((await waitForRelease(before, { clock: systemClock, limitMs: 5000, read })).released).toBe(true);
  expect(states).toEqual([]);
  const stuck = (): MemoryState => ({ ...before, availableBytes: GIB });
  const late = await waitForRelease(before, { clock: systemClock, limitMs: 120, read: stuck });
  expect(late.released).toBe(false);
  expect(late.waitedMs).toBeGreaterThanOrEqual(100);
});

test('told to end, it waits no longer and claims nothing', async () => {
  const read = (): MemoryState => ({ ...before, availableBytes: GIB });
  const signal = AbortSignal.timeout(60);
  const ended = await waitForRelease(before, { clock: systemClock, limitMs: 60_000, read, signal });
  expect(ended.released).toBe(null);
  expect(ended.waitedMs).toBeLessThan(10_000);
});

test('this machine says how much memory is available; a missing file says nothing', () => {
  expect(readMemory(null).availableBytes).toBeGreaterThan(0);
  expect(readMemory(null, '/no/such/file')).toEqual({
    availableBytes: null,
    totalBytes: null,
    gpuUsedBytes: null,
  });
});
