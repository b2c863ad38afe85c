// Owns a short fixed piece of work that tells what the machine itself can do at a moment: the same instructions each time, on one core.
// Runs between engines only, never beside one.

import type { CalibrationReading } from '../core/records/journal.ts';
import { readThrottling } from './throttling.ts';

/** Together about a tenth of a second, in repeats short enough that some fall between two turns of the scheduler. */
const REPEATS = 9;
const STEPS = 2_500_000;
/** Larger than the last-level caches of most machines. It stays allocated: page faults would be what is timed. */
const COPIED_BYTES = 32 * 1024 ** 2;

/** Marsaglia's xorshift (2003): each step needs the one before, so it runs at the speed of the clock and of nothing else. */
function arithmetic(steps: number): number {
  let x = 0x2545f491;
  for (let i = 0; i < steps; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
  }
  return x;
}

function fastest(nowMs: () => number, work: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < REPEATS; i++) {
    const begin = nowMs();
    work();
    best = Math.min(best, nowMs() - begin);
  }
  return best;
}

export type Calibrate = () => CalibrationReading;

export function createCalibrator(
  nowMs: () => number,
  {
    steps = STEPS,
    copiedBytes = COPIED_BYTES,
  }: { readonly steps?: number; readonly copiedBytes?: number } = {},
): Calibrate {
  const source = new Uint8Array(copiedBytes).fill(1);
  const target = new Uint8Array(copiedBytes).fill(2);
  const compute = (): void => {
    // Its result is looked at, or a compiler might leave the work out.
    if (arithmetic(steps) === 0) throw new Error('a xorshift that is not begun with 0 never comes to it');
  };
  const copy = (): void => {
    target.set(source);
  };
  // The first time is the compiler's.
  for (let i = 0; i < 3; i++) compute();
  copy();
  return () => {
    const arithmeticMs = fastest(nowMs, compute);
    // At once: the clock that this work ran at.
    const throttling = readThrottling();
    return { arithmeticMs, memoryMs: fastest(nowMs, copy), ...throttling };
  };
}
