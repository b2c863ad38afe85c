// Whether a text goes round in circles: how much of it was there before, and where it begins to repeat itself without end. Token ids
// only; knows no words.

/** Length of the sequences that are looked for again: two in prose are hardly ever alike by chance. */
export const GRAM = 8;
/** A loop says the same at least so often, and is at least so long: "ha ha ha" alone is no loop. */
const LOOP_ROUNDS = 3;
const LOOP_TOKENS = 16;
/** Longer periods are not looked for: they are not a loop that a reader would call one. */
const LONGEST_PERIOD = 64;

/**
 * Of all sequences of 8 tokens in a row, the share that was there before: (N − distinct) / N with N = tokens − 7. Null for a text
 * that has none.
 */
export function repeatedShare(ids: readonly number[]): number | null {
  const total = ids.length - GRAM + 1;
  if (total < 1) return null;
  const seen = new Set<string>();
  for (let at = 0; at < total; at++) seen.add(ids.slice(at, at + GRAM).join(' '));
  return (total - seen.size) / total;
}

export interface Loop {
  /** The token where it begins; the first is 0. */
  readonly at: number;
  /** After so many tokens it says the same again; the shortest such number. */
  readonly period: number;
}

/**
 * The first stretch that says the same over and over: the smallest `at` from which, for some period of at most 64 tokens, each token
 * equals the one a period later over at least three periods and 16 tokens in all. It need not last to the end. Null without one.
 */
export function firstLoop(ids: readonly number[]): Loop | null {
  let first: Loop | null = null;
  for (let period = 1; period <= LONGEST_PERIOD && period < ids.length; period++) {
    const at = loopOf(ids, period);
    if (at !== null && (first === null || at < first.at)) first = { at, period };
  }
  return first;
}

/** Where the first loop of that period begins. */
function loopOf(ids: readonly number[], period: number): number | null {
  const needed = Math.max(LOOP_ROUNDS * period, LOOP_TOKENS);
  let begin = 0;
  for (let i = period; i < ids.length; i++) {
    if (ids[i] !== ids[i - period]) begin = i - period + 1;
    else if (i - begin + 1 >= needed) return begin;
  }
  return null;
}
