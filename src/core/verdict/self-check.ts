// Base against base: does the baseline repeat itself, and how far apart are its own starts? Learned first; no arm is judged without it.

import type { GapEvent, ScoreEvent } from '../records/journal.ts';
import { gapNats, nearTieNats } from './divergence.ts';
import type { Attempt } from './replay.ts';
import { compareScores, type ScoreFinding } from './scores.ts';

/** Learned from the prompts that every run of the baseline answers from the same state: those that prime it, and the arbiter's. */
export type SelfCheck =
  | { readonly state: 'repeats'; readonly starts: number }
  | { readonly state: 'differs'; readonly prompt: string }
  | { readonly state: 'unknown' };

export function selfCheck(baselineRuns: readonly Attempt[]): SelfCheck {
  const seen = new Map<string, string>();
  let starts = 0;
  for (const attempt of baselineRuns) {
    const asked = attempt.windows.filter(
      ({ kind, idsSha256 }) => (kind === 'prime' || kind === 'arbitrate') && idsSha256 !== null,
    );
    if (asked.length > 0) starts++;
    for (const window of asked) {
      const key = `${window.class} ${window.prompt}`;
      const before = seen.get(`${window.kind} ${key}`);
      if (before !== undefined && before !== window.idsSha256) return { state: 'differs', prompt: key };
      seen.set(`${window.kind} ${key}`, String(window.idsSha256));
    }
  }
  return starts >= 2 ? { state: 'repeats', starts } : { state: 'unknown' };
}

/** What two starts of the baseline may differ by: the yardstick for every arm. */
export interface Noise {
  readonly self: SelfCheck;
  /** Gaps below this are near-ties. */
  readonly nearTie: number;
  /** The first start of the baseline against its later ones. Null: fewer than two were scored. */
  readonly score: ScoreFinding | null;
}

export function noiseOf(
  baseline: string,
  baselineRuns: readonly Attempt[],
  gaps: readonly GapEvent[],
): Noise {
  const [first, ...later] = baselineRuns.filter((attempt) => attempt.scores.length > 0);
  const pairs = later.flatMap((attempt) =>
    attempt.scores.flatMap((own): [ScoreEvent, ScoreEvent][] => {
      const before = first?.scores.find((each) => each.class === own.class && each.prompt === own.prompt);
      return before === undefined ? [] : [[before, own]];
    }),
  );
  return {
    self: selfCheck(baselineRuns),
    nearTie: nearTieNats(gaps.filter((gap) => gap.arm === baseline).map(gapNats)),
    score: compareScores(pairs),
  };
}
