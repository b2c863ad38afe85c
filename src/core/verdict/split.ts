// Why an arm is faster: more tokens a pass, or shorter passes. Knows pairs of runs of one block.

import { ratio } from '../known.ts';
import type { SpeedSplit } from '../records/verdict.ts';
import type { Totals } from './aggregate.ts';
import type { BlockPair } from './pairs.ts';

/**
 * Mean over blocks of ln(arm / baseline). Tokens are those after the first of each request, which decoding made, so that the identity
 * tok/s = tokens/pass ÷ ms/pass holds to the last digit. Null when no block has passes and times of both.
 */
export function speedSplit(pairs: readonly BlockPair[]): SpeedSplit | null {
  const parts = pairs.flatMap(({ base, arm }) => {
    const [from, to] = [perPass(base.totals), perPass(arm.totals)];
    if (from === null || to === null || base.problem !== null || arm.problem !== null) return [];
    return [{ tokens: Math.log(to.tokens / from.tokens), ms: Math.log(to.ms / from.ms) }];
  });
  if (parts.length === 0) return null;
  const mean = (of: (part: (typeof parts)[number]) => number): number =>
    parts.reduce((sum, part) => sum + of(part), 0) / parts.length;
  const tokensPerPass = mean((part) => part.tokens);
  const msPerPass = mean((part) => part.ms);
  return { tokPerSec: tokensPerPass - msPerPass, tokensPerPass, msPerPass };
}

function perPass({ decodedTokens, decodeMs, counters }: Totals): { tokens: number; ms: number } | null {
  const tokens = ratio(decodedTokens, counters.passes);
  const ms = ratio(decodeMs, counters.passes);
  return tokens === null || ms === null || tokens <= 0 || ms <= 0 ? null : { tokens, ms };
}
