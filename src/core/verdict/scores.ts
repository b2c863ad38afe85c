// Two engines' opinion of the same fixed texts, teacher-forced: perplexity ratio and shared likeliest token. Knows no arm and no level.

import type { ScoreEvent } from '../records/journal.ts';
import type { Score } from '../records/verdict.ts';
import { pairedEstimate, pairedInterval } from '../stats/paired.ts';
import { mean, sum } from '../stats/sums.ts';

/** `same`: bit for bit. `near`: within the bounds of rounding. `far`: certainly outside. `unclear`: these texts cannot tell. */
export type ScoreState = 'same' | 'near' | 'far' | 'unclear';

export interface ScoreFinding {
  readonly score: Score;
  readonly state: ScoreState;
}

/** Perplexity may move by this share, and the likeliest token in this share of places, before output counts as changed. */
const PERPLEXITY_SHARE = 0.005;
const SAME_TOP1 = 0.99;
/** Of the normal, two-sided 95 %: the usual one of Wilson's interval for a share. */
const Z95 = 1.959964;

/** The baseline's score of a text first, then the other's. Texts are the units; the same text in other blocks is averaged. */
export function compareScores(pairs: readonly (readonly [ScoreEvent, ScoreEvent])[]): ScoreFinding | null {
  const usable = pairs.filter(
    ([base, own]) =>
      base.tokens === own.tokens &&
      base.logprobs.length === own.logprobs.length &&
      (base.rows ?? 'prompt') === (own.rows ?? 'prompt'),
  );
  const byText = new Map<string, number[]>();
  let places = 0;
  let same = 0;
  let isIdentical = true;
  for (const [base, own] of usable) {
    const n = base.logprobs.length;
    const text = `${base.class} ${base.prompt}`;
    const delta = sum(own.logprobs) - sum(base.logprobs);
    byText.set(text, [...(byText.get(text) ?? []), delta / n]);
    places += n;
    same += base.top1.filter((id, index) => own.top1[index] === id).length;
    isIdentical &&= base.logitsSha256 !== null && base.logitsSha256 === own.logitsSha256 && delta === 0;
  }
  if (places === 0) return null;
  const means = [...byText.values()].map(mean);
  const estimate = pairedEstimate(means);
  const bounds = estimate === null ? null : pairedInterval(estimate, 0.05);
  // More probable is less perplexing: the bounds change places.
  const interval = bounds === null ? null : ([Math.exp(-bounds[1]), Math.exp(-bounds[0])] as const);
  const score: Score = {
    texts: means.length,
    tokens: places,
    perplexityRatio: Math.exp(-mean(means)),
    interval,
    sameTop1: same / places,
  };
  return { score, state: isIdentical && same === places ? 'same' : stateOf(score, places) };
}

function stateOf({ interval, sameTop1 }: Score, places: number): ScoreState {
  const [low, high] = interval ?? [0, Number.POSITIVE_INFINITY];
  if (low > 1 + PERPLEXITY_SHARE || high < 1 - PERPLEXITY_SHARE) return 'far';
  if (wilsonUpper(sameTop1, places) < SAME_TOP1) return 'far';
  const isNear = low >= 1 - PERPLEXITY_SHARE && high <= 1 + PERPLEXITY_SHARE && sameTop1 >= SAME_TOP1;
  return isNear ? 'near' : 'unclear';
}

/** Upper end of Wilson's 95 % interval (Wilson 1927) of a share seen in n places. */
export function wilsonUpper(share: number, n: number): number {
  const z2 = Z95 * Z95;
  const centre = share + z2 / (2 * n);
  const spread = Z95 * Math.sqrt((share * (1 - share)) / n + z2 / (4 * n * n));
  return (centre + spread) / (1 + z2 / n);
}
