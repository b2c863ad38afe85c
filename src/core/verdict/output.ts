// The output arbiter: do ids, passes, acceptance and finish reasons say that an arm changed what the model says? Text never decides.

import type { PlannedArm, Sampling } from '../records/plan.ts';
import type { OutputVerdict } from '../records/verdict.ts';
import type { ClassRun } from './aggregate.ts';
import type { Attempt, Window } from './replay.ts';

export interface OutputFinding {
  readonly output: OutputVerdict;
  readonly reason: string;
}

/** Does the baseline repeat itself? Learned from the prime prompts, which every run of it answers from the same state. */
export type SelfCheck =
  | { readonly state: 'repeats'; readonly starts: number }
  | { readonly state: 'differs'; readonly prompt: string }
  | { readonly state: 'unknown' };

export function selfCheck(baselineRuns: readonly Attempt[]): SelfCheck {
  const seen = new Map<string, string>();
  let starts = 0;
  for (const attempt of baselineRuns) {
    const primes = attempt.windows.filter((window) => window.kind === 'prime' && window.idsSha256 !== null);
    if (primes.length > 0) starts++;
    for (const prime of primes) {
      const key = `${prime.class} ${prime.prompt}`;
      const before = seen.get(key);
      if (before !== undefined && before !== prime.idsSha256) return { state: 'differs', prompt: key };
      seen.set(key, String(prime.idsSha256));
    }
  }
  return starts >= 2 ? { state: 'repeats', starts } : { state: 'unknown' };
}

/** Pairs of runs of one block: the baseline's and the arm's. */
export interface BlockPair {
  readonly base: ClassRun;
  readonly arm: ClassRun;
}

/**
 * Ids equal everywhere and passes, acceptance and finish reasons too: L0. Ids equal alone: L1. Any id differs: L3, unless the
 * baseline does not even repeat itself. Nothing to compare, other weights, other sampling: LX. L2, rounding, needs the
 * distributions and is never given here.
 */
export function judgeOutput(subject: Subject, pairs: readonly BlockPair[], self: SelfCheck): OutputFinding {
  const { arm } = subject;
  const otherWork = otherWorkOf(subject, pairs);
  if (otherWork !== null) return unverified(`not the same work: ${otherWork}`);
  if (pairs.length === 0) return unverified('no block has both this arm and the baseline');
  if (pairs.some(hasOtherWeights)) return unverified('other weights than the baseline');
  const requests = pairs.flatMap(pairWindows);
  const problem = pairs
    .map(({ base, arm: own }) => own.problem ?? base.problem)
    .find((text) => text !== null);
  if (requests.length === 0) return unverified(problem ?? 'no request of the baseline was repeated');
  const differing = requests.filter(([base, own]) => isKnownDifferent(base, own));
  if (differing.length > 0) return changed(arm, requests, differing, self);
  if (requests.some(([base, own]) => base.idsSha256 === null || own.idsSha256 === null)) {
    return unverified('the engine does not give token ids');
  }
  if (requests.length < pairs.reduce((sum, { base }) => sum + base.windows.length, 0)) {
    return unverified('some requests are missing');
  }
  return same(arm, requests);
}

/** An arm, what it is held against, and how those sample that say nothing of it. */
export interface Subject {
  readonly arm: PlannedArm;
  readonly baseline: PlannedArm;
  readonly sampling: Sampling;
}

/** Other weights and other sampling are never the same output, whatever the ids say. Another build or engine may be. */
function otherWorkOf({ arm, baseline, sampling }: Subject, pairs: readonly BlockPair[]): string | null {
  const own = arm.sampling ?? sampling;
  const base = baseline.sampling ?? sampling;
  const words = arm.overrides.length > 0 ? arm.overrides.join(', ') : 'the baseline overrides it';
  if (own.temperature !== base.temperature || own.topP !== base.topP || own.seed !== base.seed) return words;
  if (arm.engine !== baseline.engine && own.temperature > 0)
    return `${words}, which draws other random numbers`;
  // The same weights in another place, on another disk, are the same weights: if both engines prove it.
  const isProven = pairs.length > 0 && pairs.every(hasSameWeights);
  return arm.model === baseline.model || isProven ? null : words;
}

function hasSameWeights({ base, arm }: BlockPair): boolean {
  const fingerprint = base.attempt.ready?.fingerprint ?? null;
  return fingerprint !== null && arm.attempt.ready?.fingerprint === fingerprint;
}

const unverified = (reason: string): OutputFinding => ({ output: 'LX', reason });

function hasOtherWeights({ base, arm }: BlockPair): boolean {
  const [a, b] = [base, arm].map((run) => run.attempt.ready?.fingerprint ?? null);
  return a !== null && b !== null && a !== b;
}

type Pair = readonly [Window, Window];

function pairWindows({ base, arm }: BlockPair): Pair[] {
  return base.windows.flatMap((window): Pair[] => {
    const own = arm.windows.find((each) => each.prompt === window.prompt);
    return own === undefined ? [] : [[window, own]];
  });
}

function isKnownDifferent(base: Window, own: Window): boolean {
  return base.idsSha256 !== null && own.idsSha256 !== null && base.idsSha256 !== own.idsSha256;
}

function changed(
  arm: PlannedArm,
  requests: readonly Pair[],
  differing: readonly Pair[],
  self: SelfCheck,
): OutputFinding {
  const [first] = differing;
  const count = `ids differ in ${differing.length} of ${requests.length} requests`;
  if (self.state === 'differs') {
    return unverified(`${count}, but the baseline does not repeat itself either (${self.prompt})`);
  }
  const where = first === undefined ? '' : `, first in ${first[1].run} ${first[1].prompt}${tokenOf(first)}`;
  const checked = self.state === 'unknown' ? '; baseline not self-checked' : '';
  return { output: 'L3', reason: `${count}${where}${declared(arm)}${checked}` };
}

function tokenOf([base, own]: Pair): string {
  const a = base.result.ids;
  const b = own.result.ids;
  if (a === null || b === null) return '';
  const limit = Math.min(a.length, b.length);
  let index = 0;
  while (index < limit && a[index] === b[index]) index++;
  return ` at token ${index + 1}`;
}

function declared(arm: PlannedArm): string {
  return arm.lossyKnobs.length === 0 ? '' : `; declared lossy: ${arm.lossyKnobs.join(', ')}`;
}

function same(arm: PlannedArm, requests: readonly Pair[]): OutputFinding {
  const ids = `ids equal in all ${requests.length} requests`;
  const lossy = arm.lossyKnobs.length === 0 ? '' : `, although declared lossy: ${arm.lossyKnobs.join(', ')}`;
  const differences = [
    ['finish reasons', ({ result }: Window) => result.finish],
    ['passes', ({ result }: Window) => result.counters.passes],
    ['accepted drafts', ({ result }: Window) => result.counters.accepted],
  ] as const;
  for (const [name, of] of differences) {
    if (requests.some(([base, own]) => of(base) === null || of(own) === null)) {
      return { output: 'L1', reason: `${ids}, ${name} not reported${lossy}` };
    }
    if (requests.some(([base, own]) => of(base) !== of(own))) {
      return { output: 'L1', reason: `${ids}, ${name} differ${lossy}` };
    }
  }
  return { output: 'L0', reason: `${ids}, passes, acceptance and finish reasons too${lossy}` };
}
