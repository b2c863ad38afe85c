// What a changed output costs, in words: tokens a pass, tokens, score. It is never a win: the cost stands behind what it brings.
// Composes; decides nothing.

import type { OutputEvidence, SpeedSplit } from '../records/verdict.ts';
import type { OutputFinding } from './output.ts';

/** `; it costs tokens/pass −12.7 %, perplexity +2.10 %, …`, or that nobody knows; nothing where the output is the same. */
export function costWords({ output, evidence }: OutputFinding, split: SpeedSplit | null): string {
  if (output !== 'L3' || evidence === undefined) return '';
  const parts = [...passCost(split), ...tokenCost(evidence), ...scoreCost(evidence)];
  const unscored = evidence.score === null ? 'unscored' : null;
  const blind = isBlind(evidence) ? '; fixed texts, scored as prompts, do not show it' : '';
  if (parts.length === 0) return blind === '' ? `; ${unscored ?? 'no cost was found'}` : blind;
  return `; it costs ${[...parts, ...(unscored === null ? [] : [unscored])].join(', ')}${blind}`;
}

/** What bends decoding alone leaves the score of a prompt as it was, to the last bit: that is no cost of nothing. */
function isBlind({ score }: OutputEvidence): boolean {
  return score !== null && score.perplexityRatio === 1 && score.sameTop1 === 1;
}

/** Below this share a move is not worth a word. */
const WORTH_A_WORD = 0.0005;

function passCost(split: SpeedSplit | null): string[] {
  const share = split === null ? 0 : Math.exp(split.tokensPerPass) - 1;
  return Math.abs(share) < WORTH_A_WORD ? [] : [`tokens/pass ${signedPercent(share, 1)}`];
}

function tokenCost({ deltaTokens, baseTokens }: OutputEvidence): string[] {
  if (deltaTokens === null || deltaTokens === 0) return [];
  return [`${signed(deltaTokens)} of ${baseTokens} tokens to the end token`];
}

function scoreCost(evidence: OutputEvidence): string[] {
  const { score } = evidence;
  if (score === null || isBlind(evidence)) return [];
  return [
    `perplexity ${signedPercent(score.perplexityRatio - 1, 2)}`,
    `same top-1 ${(100 * score.sameTop1).toFixed(1)} %`,
  ];
}

/** With a true minus, as figures have. */
export const signed = (value: number): string => `${value < 0 ? '−' : '+'}${Math.abs(value)}`;

export function signedPercent(share: number, decimals: number): string {
  return `${share < 0 ? '−' : '+'}${(100 * Math.abs(share)).toFixed(decimals)} %`;
}
