// When is an engine warm? A floor, then windows that no longer move, then a cap. Knows no engine; time is a parameter.

import type { WarmupRule } from '../records/plan.ts';
import { movesBeyond, type Point, slopeOf } from '../stats/slope.ts';

/** One warm-up request. */
export interface WarmupWindow {
  readonly class: string;
  readonly tokens: number;
  readonly tokPerSec: number | null;
  readonly hits: number | null;
  readonly lookups: number | null;
}

export type WarmupState =
  | { readonly state: 'continue'; readonly reason: string }
  | { readonly state: 'steady'; readonly reason: string }
  /** Measured all the same, shown as not steady. */
  | { readonly state: 'cap'; readonly reason: string };

/**
 * Steady: over the last windows neither ln rate nor the hit ratio moves more than the rule allows, by more than chance. Classes
 * have levels of their own (enumeration is faster than prose), so the slope is common and the level is not; that is why at
 * least three windows more than classes are looked at.
 */
export function judgeWarmup(
  rule: WarmupRule,
  classes: readonly string[],
  windows: readonly WarmupWindow[],
  elapsedSeconds: number,
): WarmupState {
  const waiting = floorMissing(rule, classes, windows) ?? stillMoving(rule, classes, windows);
  if (waiting === undefined) return { state: 'steady', reason: `steady after ${windows.length} requests` };
  if (windows.length >= rule.capRequests) {
    return { state: 'cap', reason: `${waiting}; stopped at the cap of ${rule.capRequests} requests` };
  }
  if (elapsedSeconds >= rule.capSeconds) {
    return { state: 'cap', reason: `${waiting}; stopped at the cap of ${rule.capSeconds} s` };
  }
  return { state: 'continue', reason: waiting };
}

function floorMissing(
  rule: WarmupRule,
  classes: readonly string[],
  windows: readonly WarmupWindow[],
): string | undefined {
  for (const name of classes) {
    const done = windows.filter((window) => window.class === name).length;
    if (done < rule.floorPromptsPerClass) return `${name}: ${done} of ${rule.floorPromptsPerClass} prompts`;
  }
  const tokens = windows.reduce((sum, window) => sum + window.tokens, 0);
  return tokens < rule.floorTokens ? `${tokens} of ${rule.floorTokens} tokens` : undefined;
}

function stillMoving(
  rule: WarmupRule,
  classes: readonly string[],
  windows: readonly WarmupWindow[],
): string | undefined {
  const wanted = Math.max(rule.windows, classes.length + 3);
  if (windows.length < wanted) return `${windows.length} of ${wanted} windows`;
  const last = windows.slice(-wanted);
  const rates: Point[] = [];
  const ratios: Point[] = [];
  for (const window of last) {
    if (window.tokPerSec === null || window.tokPerSec <= 0) return 'a window without a rate';
    rates.push({ group: window.class, value: Math.log(window.tokPerSec) });
    // Engines without counters are judged by their rate alone.
    if (window.hits === null || window.lookups === null || window.lookups === 0) continue;
    ratios.push({ group: window.class, value: window.hits / window.lookups });
  }
  const rate = slopeOf(rates);
  if (rate === null) return 'too few windows of one class to see a slope';
  if (movesBeyond(rate, rule.maxSlopePerWindow)) return `the rate moves ${percent(rate.slope)} a window`;
  const ratio = ratios.length === last.length ? slopeOf(ratios) : null;
  const steps = wanted - 1;
  if (ratio !== null && movesBeyond(ratio, rule.maxHitRatioChange / steps)) {
    return `the hit ratio moved ${percent(ratio.slope * steps)} over ${wanted} windows`;
  }
  return undefined;
}

const percent = (share: number): string => `${share < 0 ? '' : '+'}${(100 * share).toFixed(1)} %`;
