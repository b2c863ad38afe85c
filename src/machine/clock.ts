// Owns the two clocks: monotonic for every duration, wall only as a label. Knows nothing of who waits.

import { performance } from 'node:perf_hooks';

export interface Clock {
  /** Never steps. Its zero means nothing. */
  monotonicMs(): number;
  /** May step; used for labels and to notice that it stepped. */
  wallMs(): number;
  /** Ends early, without an error, when the signal fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const timer = setTimeout(done, ms);
      function done(): void {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      }
      signal?.addEventListener('abort', done, { once: true });
    }),
};

export function utcOf(clock: Clock): string {
  return new Date(clock.wallMs()).toISOString();
}

/** A wall clock that moved against the monotonic one by more than this while a window ran was stepped. */
export const CLOCK_STEP_MS = 100;

export interface ClockPair {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function readPair(clock: Clock): ClockPair {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

export function steppedBetween(start: ClockPair, end: ClockPair): boolean {
  const drift = end.wallMs - start.wallMs - (end.monotonicMs - start.monotonicMs);
  return Math.abs(drift) > CLOCK_STEP_MS;
}
