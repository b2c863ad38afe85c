// The sums of a ledger's passes, and whether they say what the counters of the answer say. Knows no file.

import { grouped } from '../grouped.ts';
import type { Known } from '../known.ts';
import type { Counters } from '../records/answer.ts';
import type { LedgerPass, LedgerWindow, PassCounts } from '../records/ledger.ts';
import type { Violation } from './identities.ts';
import { CHANNELS, SOURCES, sumsOf } from './sums.ts';

const CAUSES = ['total', 'draft', 'dense', 'experts', 'pool', 'fileWait'] as const;
const NUMBERS = ['rows', 'offered', 'accepted'] as const;

/** Part by part; what one of them does not know is not known of the sum. */
export function summed(parts: readonly PassCounts[]): PassCounts {
  const of = <N extends keyof PassCounts>(name: N): PassCounts[N][] => parts.map((part) => part[name]);
  return {
    ...sumsOf(NUMBERS, parts),
    bySource: sumsOf(SOURCES, of('bySource')),
    bytes: sumsOf(CHANNELS, of('bytes')),
    ms: sumsOf(CAUSES, of('ms')),
  };
}

/** One for each request, in the order of their first passes. */
export function sumsByRequest(passes: readonly LedgerPass[]): LedgerWindow[] {
  const byRequest = grouped(passes, ({ request }) => request);
  return [...byRequest].map(([request, own]) => ({ request, passes: own.length, ...summed(own) }));
}

/** Where the lines of a request and its answer say different things. What either does not know is not held against the other. */
export function ledgerViolations(counters: Counters, sums: LedgerWindow): Violation[] {
  const found: Violation[] = [];
  const hold = (name: string, counted: Known, written: Known): void => {
    if (counted === null || written === null || counted === written) return;
    const identity = `${name} = Σ of the ledger`;
    found.push({
      identity,
      expected: counted,
      actual: written,
      text: `${identity}: ${counted} ≠ ${written}`,
    });
  };
  hold('passes', counters.passes, sums.passes);
  for (const name of NUMBERS) hold(name, counters[name], sums[name]);
  for (const name of SOURCES) hold(name, counters.bySource[name], sums.bySource[name]);
  for (const name of CHANNELS) hold(`bytes of ${name}`, counters.bytes[name], sums.bytes[name]);
  return found;
}
