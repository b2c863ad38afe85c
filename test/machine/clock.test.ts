// Durations by the monotonic clock; a wall clock that steps is noticed.

import { expect, test } from 'vitest';
import { steppedBetween, systemClock, utcOf } from '../../src/machine/clock.ts';

const start = { monotonicMs: 1000, wallMs: 5000 };

test.each([
  ['both went on', 2000, 6000, false],
  ['a slow drift', 2000, 6099, false],
  ['stepped forward', 2000, 6101, true],
  ['stepped back', 2000, 5899, true],
])('%s', (_, monotonicMs, wallMs, expected) => {
  expect(steppedBetween(start, { monotonicMs, wallMs })).toBe(expected);
});

test('a sleep ends early when its signal fires, before or during it', async () => {
  const begin = systemClock.monotonicMs();
  await systemClock.sleep(60_000, AbortSignal.abort());
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 20);
  await systemClock.sleep(60_000, controller.signal);
  expect(systemClock.monotonicMs() - begin).toBeLessThan(10_000);
});

test('a label is an ISO time in UTC', () => {
  expect(utcOf({ ...systemClock, wallMs: () => 0 })).toBe('1970-01-01T00:00:00.000Z');
});
