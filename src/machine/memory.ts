// Owns the question whether a stopped engine has given its memory back. Reads; never waits longer than it was told.

import { readFileSync } from 'node:fs';
import type { Clock } from './clock.ts';
import type { GpuMonitor } from './gpu-monitor.ts';
import { parseMeminfo } from './proc-parse.ts';

export interface MemoryState {
  readonly availableBytes: number | null;
  readonly totalBytes: number | null;
  /** By UUID; `null` without a GPU or when the driver says nothing. */
  readonly gpuUsedBytes: Readonly<Record<string, number>> | null;
}

function newestGpuUse(gpus: GpuMonitor | null): Record<string, number> | null {
  if (gpus === null || !gpus.alive) return null;
  const used: Record<string, number> = {};
  for (const sample of gpus.newest.values()) {
    if (sample.memoryUsedBytes !== null) used[sample.uuid] = sample.memoryUsedBytes;
  }
  return Object.keys(used).length === 0 ? null : used;
}

export function readMemory(gpus: GpuMonitor | null, meminfo = '/proc/meminfo'): MemoryState {
  let text = '';
  try {
    text = readFileSync(meminfo, 'utf8');
  } catch {
    // No such file: nothing is known, and that is what is returned.
  }
  return {
    availableBytes: parseMeminfo(text, 'MemAvailable'),
    totalBytes: parseMeminfo(text, 'MemTotal'),
    gpuUsedBytes: newestGpuUse(gpus),
  };
}

/** Other processes come and go; less than this is not the engine's. */
const HOST_TOLERANCE_SHARE = 0.03;
const HOST_TOLERANCE_BYTES = 512 * 1024 ** 2;
const GPU_TOLERANCE_BYTES = 512 * 1024 ** 2;

/** `null` when neither memory can be read. */
export function isReleased(before: MemoryState, now: MemoryState): boolean | null {
  const answers: boolean[] = [];
  if (before.availableBytes !== null && now.availableBytes !== null) {
    const tolerance = Math.max(HOST_TOLERANCE_BYTES, HOST_TOLERANCE_SHARE * (before.totalBytes ?? 0));
    answers.push(now.availableBytes >= before.availableBytes - tolerance);
  }
  for (const [uuid, used] of Object.entries(before.gpuUsedBytes ?? {})) {
    const usedNow = now.gpuUsedBytes?.[uuid];
    if (usedNow !== undefined) answers.push(usedNow <= used + GPU_TOLERANCE_BYTES);
  }
  return answers.length === 0 ? null : answers.every(Boolean);
}

const POLL_MS = 50;

/** Waits until the memory is back, at most `limitMs`. Told to end, it waits no longer and does not know. */
export async function waitForRelease(
  before: MemoryState,
  options: {
    readonly clock: Clock;
    readonly limitMs: number;
    readonly read: () => MemoryState;
    readonly signal?: AbortSignal;
  },
): Promise<{ readonly released: boolean | null; readonly waitedMs: number }> {
  const begin = options.clock.monotonicMs();
  for (;;) {
    const released = isReleased(before, options.read());
    const waitedMs = options.clock.monotonicMs() - begin;
    if (released !== false || waitedMs >= options.limitMs) return { released, waitedMs };
    if (options.signal?.aborted) return { released: null, waitedMs };
    await options.clock.sleep(POLL_MS, options.signal);
  }
}
