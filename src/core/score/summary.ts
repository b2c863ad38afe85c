// From windows to what is said of a class: means with intervals, and differences between arms window by window. The window is the
// unit; its places are not, for they hang together.

import { knownSum, ratio } from '../known.ts';
import type { ClassScore, Estimate, GreedySummary, GreedyText, WindowScore } from '../records/score.ts';
import { pairedEstimate, pairedInterval } from '../stats/paired.ts';
import { GRAM } from './repetition.ts';

const ALPHA = 0.05;

/** Mean over windows and its t interval. */
export function estimateOf(values: readonly number[]): Estimate | null {
  const [first] = values;
  if (first === undefined) return null;
  const paired = pairedEstimate(values);
  if (paired === null) return { value: first, interval: null };
  return {
    value: paired.mean,
    interval: paired.sd === 0 ? [paired.mean, paired.mean] : pairedInterval(paired, ALPHA),
  };
}

/** A t interval knows nothing of what a share, a loss or a divergence can be. */
function within(estimate: Estimate | null, low: number, high: number): Estimate | null {
  if (estimate === null || estimate.interval === null) return estimate;
  const [from, to] = estimate.interval;
  return { ...estimate, interval: [Math.max(low, from), Math.min(high, to)] };
}

const exponential = (estimate: Estimate): Estimate => ({
  value: Math.exp(estimate.value),
  interval:
    estimate.interval === null ? null : [Math.exp(estimate.interval[0]), Math.exp(estimate.interval[1])],
});

const lossOf = (window: WindowScore): number => window.negLogLikelihood / window.places;
const top1Of = (window: WindowScore): number => window.sameTop1 / window.places;
const divergenceOf = ({ divergence, places }: WindowScore): number | null =>
  divergence === null ? null : divergence / places;

/** All known, or null: a mean over what happens to be known is of something else. */
function allKnown(values: readonly (number | null)[]): number[] | null {
  const known = values.filter((value) => value !== null);
  return known.length === values.length && known.length > 0 ? known : null;
}

const differences = (own: readonly number[], base: readonly number[]): number[] =>
  own.map((value, i) => value - (base[i] as number));

export interface ClassWindows {
  readonly class: string;
  readonly own: readonly WindowScore[];
  /** Of the first arm, the same windows; null for the first arm itself. */
  readonly first: readonly WindowScore[] | null;
  readonly texts: readonly GreedyText[];
  readonly prefillSha256: string | null;
}

/** Null without windows. Throws where the windows of both arms are not the same ones. */
export function summarise({
  class: name,
  own,
  first,
  texts,
  prefillSha256,
}: ClassWindows): ClassScore | null {
  const perplexity = within(estimateOf(own.map(lossOf)), 0, Number.POSITIVE_INFINITY);
  const sameTop1 = within(estimateOf(own.map(top1Of)), 0, 1);
  if (perplexity === null || sameTop1 === null) return null;
  const isPaired =
    first === null || (first.length === own.length && first.every((each, i) => pairs(each, own[i])));
  if (!isPaired) throw new RangeError('windows of two arms do not pair');
  const divergences = allKnown(own.map(divergenceOf));
  const firstDivergences = first === null ? null : allKnown(first.map(divergenceOf));
  const against = (of: (window: WindowScore) => number): Estimate | null =>
    first === null ? null : estimateOf(differences(own.map(of), first.map(of)));
  const loss = against(lossOf);
  return {
    class: name,
    windows: own.length,
    places: own.reduce((sum, { places }) => sum + places, 0),
    perplexity: exponential(perplexity),
    perplexityRatio: loss === null ? null : exponential(loss),
    sameTop1,
    sameTop1Difference: against(top1Of),
    divergence: divergences === null ? null : within(estimateOf(divergences), 0, Number.POSITIVE_INFINITY),
    divergenceDifference:
      divergences === null || firstDivergences === null
        ? null
        : estimateOf(differences(divergences, firstDivergences)),
    prefillSha256,
    greedy: summariseTexts(texts),
  };
}

const pairs = (a: WindowScore, b: WindowScore | undefined): boolean =>
  b !== undefined && a.class === b.class && a.window === b.window && a.places === b.places;

/** Shares are weighed by the sequences of 8 that each text has. */
export function summariseTexts(texts: readonly GreedyText[]): GreedySummary | null {
  if (texts.length === 0) return null;
  const grams = (text: GreedyText): number => Math.max(0, text.tokens - GRAM + 1);
  const repeated = texts.reduce((sum, text) => sum + (text.repeatedShare ?? 0) * grams(text), 0);
  const total = texts.reduce((sum, text) => sum + grams(text), 0);
  const loops = texts.flatMap(({ loop }) => (loop === null ? [] : [loop]));
  const steps = texts.reduce((sum, { tokens }) => sum + Math.max(0, tokens - 1), 0);
  const decodeMs = knownSum(texts.map((text) => text.decodeMs));
  return {
    texts: texts.length,
    tokens: texts.reduce((sum, { tokens }) => sum + tokens, 0),
    repeatedShare: ratio(repeated, total),
    looping: loops.length,
    firstLoop: loops.reduce<(typeof loops)[number] | null>(
      (first, loop) => (first === null || loop.at < first.at ? loop : first),
      null,
    ),
    tokPerSecIndication: ratio(steps * 1000, decodeMs),
  };
}
