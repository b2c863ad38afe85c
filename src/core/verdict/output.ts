// The output arbiter: ids, passes, acceptance, finish reasons, lookups, digests and scores say whether an arm changed what the model
// says. Text never decides.

import { type Known, ratio } from '../known.ts';
import type { GapEvent } from '../records/journal.ts';
import type { PlannedArm, Sampling } from '../records/plan.ts';
import type { OutputEvidence, OutputVerdict } from '../records/verdict.ts';
import { type Totals, totalsOf } from './aggregate.ts';
import { gapNats } from './divergence.ts';
import { type Evidence, evidenceOf, gapOf } from './evidence.ts';
import { type BlockPair, logitsOf, type Pair } from './pairs.ts';
import type { Window } from './replay.ts';
import type { Noise } from './self-check.ts';

export interface OutputFinding {
  readonly output: OutputVerdict;
  readonly reason: string;
  /** Absent for the baseline. */
  readonly evidence?: OutputEvidence;
}

type Level = Pick<OutputFinding, 'output' | 'reason'>;

/** An arm, what it is held against, and how those sample that say nothing of it. */
export interface Subject {
  readonly arm: PlannedArm;
  readonly baseline: PlannedArm;
  readonly sampling: Sampling;
  readonly className: string;
  /** Token totals and tokens a pass may move by this share and still be the same work. */
  readonly margin: number;
}

/**
 * Everything equal, digests of the logits too where there are any: L0. Ids equal, but by other passes, drafts or logits: L1. Ids
 * differ, but only where the baseline is near a tie, and fixed texts score alike: L2. Other lookups, other scores, any other
 * difference: L3. Nothing to compare, other weights, other sampling: LX.
 */
export function judgeOutput(
  subject: Subject,
  pairs: readonly BlockPair[],
  noise: Noise,
  gaps: readonly GapEvent[],
): OutputFinding {
  const evidence = evidenceOf(subject.arm.name, subject.className, pairs, gaps);
  return { ...levelOf(subject, pairs, noise, evidence), evidence: evidence.record };
}

function levelOf(subject: Subject, pairs: readonly BlockPair[], noise: Noise, evidence: Evidence): Level {
  const { arm } = subject;
  const otherWork = otherWorkOf(subject, pairs);
  if (otherWork !== null) return unverified(`not the same work: ${otherWork}`);
  if (pairs.length === 0) return unverified('no block has both this arm and the baseline');
  if (pairs.some(hasOtherWeights)) return unverified('other weights than the baseline');
  const { measured, arbitration } = evidence;
  const requests = [...measured, ...arbitration];
  const problem = pairs
    .map(({ base, arm: own }) => own.problem ?? base.problem)
    .find((text) => text !== null);
  if (measured.length === 0) return unverified(problem ?? 'no request of the baseline was repeated');
  if (evidence.differing.length > 0) return diverged(subject, requests, noise, evidence);
  if (requests.some(([base, own]) => base.idsSha256 === null || own.idsSha256 === null)) {
    return unverified('the engine does not give token ids');
  }
  if (measured.length < pairs.reduce((sum, { base }) => sum + base.windows.length, 0)) {
    return unverified('some requests are missing');
  }
  return (
    lookupsChanged(arm, requests) ??
    scoresChanged(arm, requests, evidence) ??
    draftedOtherwise(arm, pairs, requests) ??
    same(arm, requests, evidence, noise)
  );
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

const unverified = (reason: string): Level => ({ output: 'LX', reason });

function hasOtherWeights({ base, arm }: BlockPair): boolean {
  const [a, b] = [base, arm].map((run) => run.attempt.ready?.fingerprint ?? null);
  return a !== null && b !== null && a !== b;
}

function diverged(
  subject: Subject,
  requests: readonly Pair[],
  { self, nearTie, score: baseScore }: Noise,
  evidence: Evidence,
): Level {
  const { arm } = subject;
  const count = `ids differ in ${evidence.differing.length} of ${requests.length} requests`;
  const where = whereOf(evidence.record);
  const doubts = roundingDoubts(subject, evidence, nearTie);
  if (doubts.length === 0) {
    return {
      output: 'L2',
      reason: `${count}${where}; only near ties, and fixed texts score alike${declared(arm)}`,
    };
  }
  if (self.state === 'differs') {
    const text = `${count}, but the baseline does not repeat itself either (${self.prompt})`;
    const isOutside = evidence.score?.state === 'far' && baseScore !== null && baseScore.state !== 'far';
    if (!isOutside) return unverified(text);
    return { output: 'L3', reason: `${text}; beyond its own noise: ${scoreWords(evidence)}${declared(arm)}` };
  }
  const checked = self.state === 'unknown' ? '; baseline not self-checked' : '';
  return { output: 'L3', reason: `${count}${where}${doubtWords(doubts)}${declared(arm)}${checked}` };
}

interface Doubt {
  readonly text: string;
  /** Evidence that is missing is no finding: where nothing was asked, the ids have spoken. */
  readonly isFinding: boolean;
}

/** Why a divergence is more than rounding, or cannot be told from more. Empty: it is rounding. */
function roundingDoubts({ margin }: Subject, evidence: Evidence, nearTie: number): Doubt[] {
  const { measured, arbitration } = evidence;
  const totals = (side: 0 | 1, pairs: readonly Pair[]): Totals => totalsOf(pairs.map((pair) => pair[side]));
  const perPass = (side: 0 | 1): Known => {
    const { tokens, counters } = totals(side, measured);
    return ratio(tokens, counters.passes);
  };
  return [
    ...gapDoubts(evidence, nearTie),
    ...scoreDoubts(evidence),
    ...(arbitration.length === 0
      ? []
      : moved('tokens', totals(0, arbitration).tokens, totals(1, arbitration).tokens, margin)),
    ...moved('tokens/pass', perPass(0), perPass(1), margin),
  ];
}

/** Every answer to the arbiter that parts was to be asked about; measured ones nobody asks about, and the arbiter's stand for them. */
function gapDoubts({ arbitration, gaps }: Evidence, nearTie: number): Doubt[] {
  const parted = arbitration.filter(([base, own]) => base.idsSha256 !== own.idsSha256);
  const known = parted.map((pair) => gapOf(pair, gaps));
  if (known.some((gap) => gap !== undefined && gapNats(gap) > nearTie))
    return [{ text: 'the gap is wide', isFinding: true }];
  return parted.length === 0 || known.includes(undefined)
    ? [{ text: 'no gap was measured', isFinding: false }]
    : [];
}

function scoreDoubts({ score }: Evidence): Doubt[] {
  if (score === null) return [{ text: 'unscored', isFinding: false }];
  if (score.state === 'far') return [{ text: 'fixed texts score otherwise', isFinding: true }];
  return score.state === 'unclear'
    ? [{ text: 'too few fixed texts to tell by their scores', isFinding: false }]
    : [];
}

/** What an engine does not report, on either side, says nothing. */
function moved(name: string, base: Known, own: Known, margin: number): Doubt[] {
  if (base === null || own === null) return [];
  return base > 0 && Math.abs(own / base - 1) <= margin
    ? []
    : [{ text: `${name} ${trimmed(own)} instead of ${trimmed(base)}`, isFinding: true }];
}

const trimmed = (value: number): string => String(Number(value.toPrecision(3)));

function doubtWords(doubts: readonly Doubt[]): string {
  const findings = doubts.flatMap(({ text, isFinding }) => (isFinding ? [text] : []));
  return findings.length === 0 ? '' : `; ${findings.join(', ')}`;
}

function whereOf({ firstDivergence: first }: OutputEvidence): string {
  if (first === null) return '';
  const gap = first.gapNats === null ? '' : ` (gap ${first.gapNats.toFixed(3)} nat)`;
  return `, first in ${first.run} ${first.prompt} at token ${first.token}${gap}`;
}

function declared(arm: PlannedArm): string {
  return arm.lossyKnobs.length === 0 ? '' : `; declared lossy: ${arm.lossyKnobs.join(', ')}`;
}

/** With as many rows, the router asks as often: less is work left out. Rows of other number have other lookups by nature. */
function lookupsChanged(arm: PlannedArm, requests: readonly Pair[]): Level | null {
  const changed = requests.find(([base, own]) => {
    const [a, b] = [base.result.counters, own.result.counters];
    return (
      a.rows !== null &&
      a.rows === b.rows &&
      a.lookups !== null &&
      b.lookups !== null &&
      a.lookups !== b.lookups
    );
  });
  if (changed === undefined) return null;
  const [base, own] = changed.map(({ result }) => result.counters.lookups);
  const reason = `ids equal in all ${requests.length} requests, but ${own} lookups instead of ${base} in as many rows`;
  return { output: 'L3', reason: `${reason}${declared(arm)}` };
}

function scoresChanged(arm: PlannedArm, requests: readonly Pair[], evidence: Evidence): Level | null {
  if (evidence.score?.state !== 'far') return null;
  const reason = `ids equal in all ${requests.length} requests, but fixed texts score otherwise: ${scoreWords(evidence)}`;
  return { output: 'L3', reason: `${reason}${declared(arm)}` };
}

function scoreWords({ record: { score } }: Evidence): string {
  if (score === null) return 'unscored';
  const percent = (value: number): string => `${(100 * value).toFixed(2)} %`;
  return `perplexity ${percent(score.perplexityRatio)}, same top-1 ${percent(score.sameTop1)}`;
}

const lossyAfterAll = ({ lossyKnobs }: PlannedArm): string =>
  lossyKnobs.length === 0 ? '' : `, although declared lossy: ${lossyKnobs.join(', ')}`;

/** Weights that only draft decide no token; but equal passes and acceptance are then chance, and no proof of one path. */
function draftedOtherwise(
  arm: PlannedArm,
  pairs: readonly BlockPair[],
  requests: readonly Pair[],
): Level | null {
  const drafterOf = ({ attempt }: BlockPair['base']): string | null =>
    attempt.ready?.draftFingerprint ?? null;
  const isOther = pairs.some((pair) => {
    const [base, own] = [drafterOf(pair.base), drafterOf(pair.arm)];
    return base !== null && own !== null && base !== own;
  });
  if (!isOther) return null;
  const reason = `ids equal in all ${requests.length} requests, drafted by other weights`;
  return { output: 'L1', reason: `${reason}${lossyAfterAll(arm)}` };
}

function same(
  arm: PlannedArm,
  requests: readonly Pair[],
  evidence: Evidence,
  { score: baseScore }: Noise,
): Level {
  const ids = `ids equal in all ${requests.length} requests`;
  const lossy = lossyAfterAll(arm);
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
  // An engine whose logits differ from start to start proves nothing by them.
  const isExact = baseScore === null || baseScore.state === 'same';
  const digests = requests.map(([base, own]) => [logitsOf(base), logitsOf(own)] as const);
  const known = isExact ? digests.filter(([base, own]) => base !== null && own !== null) : [];
  const isScored = isExact && evidence.score !== null;
  if (known.some(([base, own]) => base !== own))
    return { output: 'L1', reason: `${ids}, but other logits${lossy}` };
  if (isScored && evidence.score?.state !== 'same') {
    return { output: 'L1', reason: `${ids}, but other logits in the prefill${lossy}` };
  }
  const more = [...(known.length === requests.length ? ['logits'] : []), ...(isScored ? ['prefill'] : [])];
  const words = ['passes', 'acceptance', ...more].join(', ');
  return { output: 'L0', reason: `${ids}, ${words} and finish reasons too${lossy}` };
}
