// What an arm's answers show beside the baseline's, in numbers: for the arbiter, and for who wants to see why. Decides no level.

import { knownSum } from '../known.ts';
import type { GapEvent } from '../records/journal.ts';
import type { FirstDivergence, OutputEvidence } from '../records/verdict.ts';
import { firstDifference, gapNats } from './divergence.ts';
import { arbitrationPairs, type BlockPair, measuredPairs, type Pair, scorePairs } from './pairs.ts';
import { compareScores, type ScoreFinding } from './scores.ts';

export interface Evidence {
  readonly measured: readonly Pair[];
  readonly arbitration: readonly Pair[];
  /** Pairs of both kinds whose ids are known and differ, the arbiter's first: of those the gap may be known. */
  readonly differing: readonly Pair[];
  readonly gaps: readonly GapEvent[];
  readonly score: ScoreFinding | null;
  readonly record: OutputEvidence;
}

export function evidenceOf(
  arm: string,
  className: string,
  pairs: readonly BlockPair[],
  allGaps: readonly GapEvent[],
): Evidence {
  const measured = pairs.flatMap(measuredPairs);
  const arbitration = pairs.flatMap(arbitrationPairs);
  const gaps = allGaps.filter((gap) => gap.arm === arm && gap.class === className);
  const differing = [...arbitration, ...measured].filter(isKnownDifferent);
  const score = compareScores(pairs.flatMap(scorePairs));
  const count = (side: 0 | 1): number | null =>
    arbitration.length === 0 ? null : knownSum(arbitration.map((pair) => pair[side].result.tokens));
  const base = count(0);
  const own = count(1);
  return {
    measured,
    arbitration,
    differing,
    gaps,
    score,
    record: {
      compared: measured.length + arbitration.length,
      differing: differing.length,
      deltaTokens: base === null || own === null ? null : own - base,
      baseTokens: base,
      firstDivergence: firstDivergence(differing, gaps),
      score: score?.score ?? null,
    },
  };
}

function isKnownDifferent([base, own]: Pair): boolean {
  return base.idsSha256 !== null && own.idsSha256 !== null && base.idsSha256 !== own.idsSha256;
}

/** What the baseline thinks of the place where two answers to the arbiter part; nobody asks it about measured ones. */
export function gapOf([base, own]: Pair, gaps: readonly GapEvent[]): GapEvent | undefined {
  const index = firstDifference(base.result.ids, own.result.ids);
  return own.kind === 'arbitrate'
    ? gaps.find((gap) => gap.prompt === own.prompt && gap.index === index)
    : undefined;
}

/** The earliest place of all, of those whose gap is known if there are any. */
function firstDivergence(differing: readonly Pair[], gaps: readonly GapEvent[]): FirstDivergence | null {
  const found = differing.flatMap(([base, own]): FirstDivergence[] => {
    const index = firstDifference(base.result.ids, own.result.ids);
    if (index === null) return [];
    const gap = gapOf([base, own], gaps);
    const gapKnown = gap === undefined ? null : gapNats(gap);
    return [{ run: own.run, prompt: own.prompt, token: index + 1, gapNats: gapKnown }];
  });
  const known = found.filter(({ gapNats: gap }) => gap !== null);
  const [first, ...others] = known.length > 0 ? known : found;
  if (first === undefined) return null;
  return others.reduce((least, each) => (each.token < least.token ? each : least), first);
}
