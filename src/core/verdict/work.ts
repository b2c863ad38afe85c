// What an arm did in a class besides its speed: bytes, lookups, the causes of a pass's time, energy, and how near its ceiling it came.
// Knows no other arm.

import { type Known, medianKnown, ratio, scaled } from '../known.ts';
import type { ArmClassVerdict, Verdict } from '../records/verdict.ts';
import { boundLine } from '../roofline/bound.ts';
import { bytesPerToken, ceilingOf } from '../roofline/ceiling.ts';
import { joulesPerToken } from '../roofline/energy.ts';
import { type ClassRun, totalsOf } from './aggregate.ts';
import { causesOf, type Ledgered, sumsOf } from './causes.ts';

export type Work = Pick<
  ArmClassVerdict,
  | 'tokensPerPass'
  | 'msPerPass'
  | 'causes'
  | 'prefillTokPerSec'
  | 'ttftMs'
  | 'loadS'
  | 'hostBytesPerToken'
  | 'deviceBytesPerToken'
  | 'fileBytesPerToken'
  | 'ceilingTokPerSec'
  | 'ceilingShare'
  | 'binds'
  | 'lookups'
  | 'rows'
  | 'passes'
  | 'acceptance'
  | 'joulesPerToken'
>;

export interface Machine {
  readonly bandwidths: Verdict['ceilings'];
  readonly device: string | null;
}

const ledgered = (runs: readonly ClassRun[]): Ledgered[] =>
  runs.flatMap(({ attempt, windows }) =>
    windows.map((window) => ({ window, sums: sumsOf(attempt, window) })),
  );

export function workOf(runs: readonly ClassRun[], tokPerSec: Known, { bandwidths, device }: Machine): Work {
  const windows = runs.flatMap((run) => run.windows);
  const totals = totalsOf(windows);
  const { counters } = totals;
  const perToken = bytesPerToken(counters.bytes, totals.decodedTokens, device);
  const ceiling = ceilingOf(perToken, bandwidths, device);
  const causes = causesOf(ledgered(runs));
  const joules = joulesPerToken(windows);
  return {
    tokensPerPass: ratio(totals.tokens, counters.passes),
    msPerPass: ratio(totals.decodeMs, counters.passes),
    ...(causes === null ? {} : { causes }),
    prefillTokPerSec: scaled(ratio(totals.prefillTokens, totals.prefillMs), 1000),
    ttftMs: totals.ttftMs,
    loadS: scaled(medianKnown(runs.map((run) => run.attempt.loadMs)), 1 / 1000),
    hostBytesPerToken: perToken.host,
    deviceBytesPerToken: perToken.device,
    fileBytesPerToken: perToken.file,
    ceilingTokPerSec: ceiling?.tokPerSec ?? null,
    ceilingShare: ratio(tokPerSec, ceiling?.tokPerSec ?? null),
    ...(ceiling === null ? {} : { binds: ceiling.binds }),
    lookups: { ...counters.bySource, total: counters.lookups },
    rows: counters.rows,
    passes: counters.passes,
    acceptance: ratio(counters.accepted, counters.offered),
    ...(joules === null ? {} : { joulesPerToken: joules }),
  };
}

/** One line an arm, over all its classes: what a machine waits for does not depend on what is said. */
export function boundsOf(
  arms: readonly string[],
  runsOf: (arm: string) => readonly ClassRun[],
  { bandwidths }: Machine,
): NonNullable<Verdict['bounds']> {
  return arms.map((arm) => ({ arm, line: boundLine(ledgered(runsOf(arm)), bandwidths) }));
}
