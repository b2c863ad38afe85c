// What the milliseconds of a pass went to, by the ledger where there is one. Knows windows and their sums; names no bound.

import { requestOf, timing } from '../counters/raw-answer.ts';
import { type Known, knownSum, ratio } from '../known.ts';
import type { PassCauses } from '../records/causes.ts';
import type { LedgerWindow, PassMs } from '../records/ledger.ts';
import type { Attempt, Window } from './replay.ts';

/** As a reader sees them. */
export const CAUSE_NAMES: Readonly<Record<keyof PassCauses, string>> = {
  pool: 'CPU pool',
  fileWait: 'file wait',
  dense: 'dense half',
  draft: 'drafts',
  other: 'other',
};

/** A measured window and what its run's ledger says of it. */
export interface Ledgered {
  readonly window: Window;
  readonly sums: LedgerWindow | null;
}

/** Null where the run's ledger, if it has one, lacks the window. */
export function sumsOf({ end }: Attempt, { result }: Window): LedgerWindow | null {
  const request = requestOf(result);
  if (request === null) return null;
  return end?.ledger?.windows.find((each) => each.request === request) ?? null;
}

/**
 * Parts that do not overlap; `other` is what is left of the time from the first token to the last. Null when nothing is known but that
 * time. Without a ledger an answer may still tell its pool.
 */
export function causesOf(all: readonly Ledgered[]): PassCauses | null {
  const results = all.map(({ window }) => window.result);
  const passes = knownSum(results.map(({ counters }) => counters.passes));
  const decodeMs = knownSum(results.map((result) => result.decodeMs));
  if (all.length === 0 || passes === null || passes === 0 || decodeMs === null) return null;
  const part = (name: keyof PassMs): Known => {
    const whole = knownSum(all.map(({ sums }) => sums?.ms[name] ?? null));
    return ratio(whole, passes);
  };
  const pool = part('pool') ?? ratio(knownSum(results.map((result) => timing(result, 'pool_ms'))), passes);
  const [draft, dense, fileWait] = [part('draft'), part('dense'), part('fileWait')];
  const known = [draft, dense, pool, fileWait].filter((ms): ms is number => ms !== null);
  if (known.length === 0) return null;
  const other = decodeMs / passes - known.reduce((sum, ms) => sum + ms, 0);
  return { draft, dense, pool, fileWait, other };
}
