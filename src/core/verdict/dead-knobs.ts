// Knobs that were set and left no trace. Knows pairs of runs of one block; whether the speed moved is the caller's to ask.

import type { PlannedArm } from '../records/plan.ts';
import { stableJsonLine } from '../stable-json.ts';
import { arbitrationPairs, type BlockPair, logitsOf, measuredPairs } from './pairs.ts';
import type { Window } from './replay.ts';

/**
 * The knobs whose value differs from the baseline's, when nothing else does: not an id, a counter, a byte or a digest of any request,
 * not what the engine said of its sizes at ready, not a kind of line in its log. Empty when there is a trace, or too little is known to
 * say that there is none. What an engine only repeats of its command line (`lossy`) is no trace: an option may be echoed and ignored.
 */
export function deadKnobsOf(arm: PlannedArm, baseline: PlannedArm, pairs: readonly BlockPair[]): string[] {
  if (arm.overrides.length > 0 || arm.engine !== baseline.engine) return [];
  const names = [...new Set([...Object.keys(arm.knobs), ...Object.keys(baseline.knobs)])];
  const set = names.filter((name) => arm.knobs[name] !== baseline.knobs[name]);
  const requests = pairs.flatMap((pair) => [...measuredPairs(pair), ...arbitrationPairs(pair)]);
  if (set.length === 0 || requests.length === 0) return [];
  const isTraced =
    requests.some(([base, own]) => base.idsSha256 === null || traceOf(base) !== traceOf(own)) ||
    pairs.some(({ base, arm: own }) => startOf(base.attempt) !== startOf(own.attempt));
  return isTraced ? [] : set.sort();
}

/** Late prefetches depend on time. */
function traceOf(window: Window): string {
  const { tokens, finish, counters } = window.result;
  const { late: _, ...fixed } = counters;
  return stableJsonLine([window.idsSha256, tokens, finish, fixed, logitsOf(window)]);
}

/** What a start says of itself; a start without a shape of its log differs from every other, so that nothing is called dead. */
function startOf({ ready, end, planned }: BlockPair['base']['attempt']): string {
  const raw = ready?.raw;
  const said = typeof raw === 'object' && raw !== null ? { ...raw, lossy: null } : (raw ?? null);
  return stableJsonLine([said, end?.logShapeSha256 ?? planned.id]);
}
