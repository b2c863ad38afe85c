// The identities that an engine's counters must satisfy, by its counting rule. Knows the vocabulary, no engine.

import { knownSum } from '../known.ts';
import type { Counters, CountingRule, GenerateResult, Lookups } from '../records/answer.ts';

/** A broken identity: what should have been equal, with both numbers. */
export interface Violation {
  readonly identity: string;
  readonly expected: number;
  readonly actual: number;
  /** `lookups = hit + pcie + cpu + file + skipped: 4800 ≠ 4790` */
  readonly text: string;
}

export interface ModelShape {
  readonly moeLayers: number | null;
  readonly topK: number | null;
}

/** What the identities need of an answer. */
export type Counted = Pick<GenerateResult, 'tokens' | 'ids' | 'counters'>;

/** Every identity that fails. One that needs a number nobody reported is not checked: unknown is not 0. */
export function brokenIdentities(answer: Counted, shape: ModelShape, rule: CountingRule): Violation[] {
  return [
    ...wholeNumbers(answer.counters),
    ...sourceIdentities(answer.counters, rule),
    ...routerIdentities(answer.counters, shape, rule),
    ...tokenIdentities(answer),
  ];
}

/** Sum of lookups by source; null as soon as one of them is unknown. In `subset` a file read is already counted as cpu. */
export function lookupSum(by: Lookups, rule: CountingRule): number | null {
  const parts = [by.hit, by.pcie, by.cpu, ...(rule.file === 'disjoint' ? [by.file] : []), by.skipped];
  return knownSum(parts);
}

function broken(identity: string, actual: number, relation: '≠' | '>', expected: number): Violation {
  return { identity, expected, actual, text: `${identity}: ${actual} ${relation} ${expected}` };
}

function wholeNumbers(counters: Counters): Violation[] {
  const { bySource, bytes, ...single } = counters;
  return Object.entries({ ...single, ...bySource })
    .filter(([, value]) => value !== null && (!Number.isSafeInteger(value) || value < 0))
    .map(([name, value]) =>
      broken(`${name} is a whole number`, Number(value), '≠', Math.max(0, Math.round(Number(value)))),
    );
}

function sourceIdentities({ lookups, bySource, late }: Counters, rule: CountingRule): Violation[] {
  const found: Violation[] = [];
  const sum = lookupSum(bySource, rule);
  const names = rule.file === 'disjoint' ? 'hit + pcie + cpu + file + skipped' : 'hit + pcie + cpu + skipped';
  if (lookups !== null && sum !== null && lookups !== sum)
    found.push(broken(`lookups = ${names}`, lookups, '≠', sum));
  const { file, cpu } = bySource;
  if (rule.file === 'subset' && file !== null && cpu !== null && file > cpu) {
    found.push(broken('file ≤ cpu', file, '>', cpu));
  }
  if (late !== null && file !== null && late > file) found.push(broken('late ≤ file', late, '>', file));
  return found;
}

function routerIdentities(
  { lookups, rows, passes }: Counters,
  shape: ModelShape,
  rule: CountingRule,
): Violation[] {
  const found: Violation[] = [];
  if (passes !== null && rows !== null && passes > rows)
    found.push(broken('passes ≤ rows', passes, '>', rows));
  const { moeLayers, topK } = shape;
  if (lookups === null || rows === null || moeLayers === null || topK === null) return found;
  const routed = rows * moeLayers * topK;
  if (rule.unit === 'lookup' && lookups !== routed) {
    found.push(broken('lookups = rows × MoE layers × top-k', lookups, '≠', routed));
  }
  // Distinct experts of a pass can only be fewer than what its rows asked for.
  if (rule.unit === 'blob' && lookups > routed) {
    found.push(broken('lookups ≤ rows × MoE layers × top-k', lookups, '>', routed));
  }
  return found;
}

function tokenIdentities({ tokens, ids, counters }: Counted): Violation[] {
  const found: Violation[] = [];
  const { offered, accepted, passes } = counters;
  if (ids !== null && ids.length !== tokens)
    found.push(broken('tokens = number of ids', tokens, '≠', ids.length));
  if (accepted !== null && offered !== null && accepted > offered) {
    found.push(broken('accepted ≤ offered', accepted, '>', offered));
  }
  // Each pass gives the accepted drafts and one token of its own; one more when the first came from the prompt's logits.
  if (accepted !== null && passes !== null && tokens > 0 && Math.abs(tokens - accepted - passes) > 1) {
    found.push(broken('tokens = accepted + passes, to within 1', tokens, '≠', accepted + passes));
  }
  return found;
}
