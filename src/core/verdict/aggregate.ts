// Sums of windows: rates as ratios of sums, counters as sums, unknown when a part is unknown. Knows no other arm.

import { CHANNELS, SOURCES, sumsOf } from '../counters/sums.ts';
import { type Known, knownSum, medianKnown, ratio, scaled } from '../known.ts';
import type { Counters } from '../records/answer.ts';
import type { Plan } from '../records/plan.ts';
import { type Attempt, measuredWindows, type Window } from './replay.ts';

export interface Totals {
  /** All tokens that came out. */
  readonly tokens: number;
  /** Tokens after the first of each request: those that decoding made. */
  readonly decodedTokens: number;
  readonly decodeMs: Known;
  readonly prefillTokens: Known;
  readonly prefillMs: Known;
  readonly ttftMs: Known;
  readonly counters: Counters;
}

export function totalsOf(windows: readonly Window[]): Totals {
  const results = windows.map((window) => window.result);
  const sum = (of: (result: Window['result']) => Known): Known =>
    results.length === 0 ? null : knownSum(results.map(of));
  return {
    tokens: results.reduce((total, result) => total + result.tokens, 0),
    decodedTokens: results.reduce((total, result) => total + Math.max(0, result.tokens - 1), 0),
    // A request of one token has no time between its first and its last.
    decodeMs: sum((result) => (result.tokens < 2 ? 0 : result.decodeMs)),
    prefillTokens: sum(({ promptTokens, cachedPromptTokens }) =>
      promptTokens === null || cachedPromptTokens === null ? null : promptTokens - cachedPromptTokens,
    ),
    prefillMs: sum((result) => result.prefillMs),
    ttftMs: medianKnown(results.map((result) => result.ttftMs)),
    counters: sumCounters(results.map((result) => result.counters)),
  };
}

const COUNTS = ['passes', 'rows', 'lookups', 'offered', 'accepted', 'late'] as const;

function sumCounters(all: readonly Counters[]): Counters {
  return {
    ...sumsOf(COUNTS, all),
    bySource: sumsOf(
      SOURCES,
      all.map(({ bySource }) => bySource),
    ),
    bytes: sumsOf(
      CHANNELS,
      all.map(({ bytes }) => bytes),
    ),
  };
}

/** Tokens a second of decoding: Σ(n − 1) / Σ(t_last − t_first). */
export function decodeRate(totals: Totals): Known {
  return scaled(ratio(totals.decodedTokens === 0 ? null : totals.decodedTokens, totals.decodeMs), 1000);
}

/** The measured windows of one class in the order of the plan's prompts, and why they give no rate, if they do not. */
export interface ClassRun {
  readonly className: string;
  readonly attempt: Attempt;
  readonly windows: readonly Window[];
  readonly totals: Totals;
  readonly tokPerSec: Known;
  readonly problem: string | null;
}

export function classRun(plan: Plan, attempt: Attempt, className: string): ClassRun {
  const { block } = attempt.planned;
  const workload = plan.workloads.find((each) => each.class === className);
  const wanted = (workload?.promptsByBlock[block - 1] ?? []).map((prompt) => prompt.id);
  const measured = measuredWindows(attempt).filter((window) => window.class === className);
  const windows = wanted.flatMap((id) => measured.filter((window) => window.prompt === id).slice(-1));
  const totals = totalsOf(windows);
  const problem = problemOf(wanted, windows, totals);
  return {
    className,
    attempt,
    windows,
    totals,
    problem,
    tokPerSec: problem === null ? decodeRate(totals) : null,
  };
}

/** A failed request must not vanish from a mean: one that gave nothing takes the rate of its run with it. */
function problemOf(wanted: readonly string[], windows: readonly Window[], totals: Totals): string | null {
  if (windows.length < wanted.length || wanted.length === 0) {
    return `${windows.length} of ${wanted.length} prompts were measured`;
  }
  const empty = windows.find((window) => window.result.tokens === 0);
  if (empty !== undefined) return `no token came for prompt ${empty.prompt}`;
  if (totals.decodedTokens === 0) return 'no request gave the two tokens that a rate needs';
  if (totals.decodeMs === null) return 'the engine does not report decode times';
  return totals.decodeMs > 0 ? null : 'the decode time is 0';
}
