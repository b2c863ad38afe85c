// Energy per token from sampled power. Knows windows.

import type { Window } from '../verdict/replay.ts';

/**
 * Joules a token, all tokens of the windows over their whole time, prefill included. An estimate: a sampler sees only part of the time
 * (nvidia-smi about a quarter of it on some GPUs, arXiv 2312.02741), and a processor's power is not in it. Null where nothing was sampled.
 */
export function joulesPerToken(windows: readonly Window[]): number | null {
  let joules = 0;
  let tokens = 0;
  for (const { load, wallMs, result } of windows) {
    const watts = load.gpus?.map((gpu) => gpu.powerWatts) ?? [];
    if (watts.length === 0) return null;
    for (const each of watts) {
      if (each === null) return null;
      joules += (each * wallMs) / 1000;
    }
    tokens += result.tokens;
  }
  return tokens === 0 ? null : joules / tokens;
}
