// Which request of an arm answers which of the baseline. Knows blocks, classes and prompts; compares nothing.

import type { ScoreEvent } from '../records/journal.ts';
import type { ClassRun } from './aggregate.ts';
import type { Window } from './replay.ts';

/** Pairs of runs of one block: the baseline's and the arm's. */
export interface BlockPair {
  readonly base: ClassRun;
  readonly arm: ClassRun;
}

/** The baseline's window first. */
export type Pair = readonly [Window, Window];

export function measuredPairs({ base, arm }: BlockPair): Pair[] {
  return paired(base.windows, arm.windows);
}

export function arbitrationPairs({ base, arm }: BlockPair): Pair[] {
  const of = (run: ClassRun): Window[] =>
    run.attempt.windows.filter(({ kind, class: name }) => kind === 'arbitrate' && name === run.className);
  return paired(of(base), of(arm));
}

function paired(base: readonly Window[], arm: readonly Window[]): Pair[] {
  return base.flatMap((window): Pair[] => {
    const own = arm.find((each) => each.prompt === window.prompt);
    return own === undefined ? [] : [[window, own]];
  });
}

export function scorePairs({ base, arm }: BlockPair): (readonly [ScoreEvent, ScoreEvent])[] {
  const of = (run: ClassRun): ScoreEvent[] =>
    run.attempt.scores.filter((score) => score.class === run.className);
  const own = of(arm);
  return of(base).flatMap((score): [ScoreEvent, ScoreEvent][] => {
    const other = own.find((each) => each.prompt === score.prompt);
    return other === undefined ? [] : [[score, other]];
  });
}

/** The engine's own digest of the logits behind its last token, where it gives one. */
export function logitsOf({ result: { raw } }: Window): string | null {
  if (typeof raw !== 'object' || raw === null || !('digest' in raw)) return null;
  const { digest } = raw;
  if (typeof digest !== 'object' || digest === null || !('logits' in digest)) return null;
  return typeof digest.logits === 'string' ? digest.logits : null;
}
