// What `rota score` found. Data only. A number that is not known is `null`.

import type { Known } from '../known.ts';
import type { Loop } from '../score/repetition.ts';

/** What an engine thought of one window of a text. Sums are over `places`. */
export interface WindowScore {
  readonly class: string;
  readonly window: number;
  /** Tokens that were predicted and counted. */
  readonly places: number;
  /** Σ −ln p of the text's own tokens. */
  readonly negLogLikelihood: number;
  /** Places where the reference finds the same token likeliest. */
  readonly sameTop1: number;
  /** Σ of the divergences of the arm's distribution from the reference's, in nats. Null: the engine gives no distributions. */
  readonly divergence: Known;
  /** Of the logits behind the last token that was read as a prompt. */
  readonly prefillSha256: string | null;
}

/** A text that the engine went on with by itself, greedily. */
export interface GreedyText {
  readonly class: string;
  readonly window: number;
  readonly tokens: number;
  readonly finish: string | null;
  readonly repeatedShare: Known;
  readonly loop: Loop | null;
  readonly decodeMs: Known;
}

/** A mean over windows with its 95 % t interval; no interval from a single window. */
export interface Estimate {
  readonly value: number;
  readonly interval: readonly [low: number, high: number] | null;
}

export interface ClassScore {
  readonly class: string;
  readonly windows: number;
  readonly places: number;
  readonly perplexity: Estimate;
  /** Perplexity of the arm over that of the first arm, window by window. Null for the first arm. */
  readonly perplexityRatio: Estimate | null;
  readonly sameTop1: Estimate;
  readonly sameTop1Difference: Estimate | null;
  /** Nats a place. */
  readonly divergence: Estimate | null;
  readonly divergenceDifference: Estimate | null;
  /** Over the prefills of all windows; equal where every one is, to the last bit. */
  readonly prefillSha256: string | null;
  readonly greedy: GreedySummary | null;
}

export interface GreedySummary {
  readonly texts: number;
  readonly tokens: number;
  /** Over all texts together. */
  readonly repeatedShare: Known;
  readonly looping: number;
  /** The earliest in any text. */
  readonly firstLoop: Loop | null;
  /** Of a few texts, once, on a machine that nobody watched: no measurement. */
  readonly tokPerSecIndication: Known;
}

export interface Scored {
  readonly name: string;
  readonly engine: string;
  readonly model: string;
  readonly knobs: Readonly<Record<string, string | number | boolean>>;
  readonly lossy: readonly string[];
  readonly fingerprint: string | null;
  readonly device: string;
  /** What may be concluded from it. Absent: everything. */
  readonly subject?: string;
}

export interface ArmScore extends Scored {
  readonly classes: readonly ClassScore[];
  readonly windows: readonly WindowScore[];
  readonly texts: readonly GreedyText[];
}

export interface MeasuredRate {
  readonly arm: string;
  readonly class: string;
  readonly tokPerSec: number;
}

export interface ScoreReport {
  readonly schemaVersion: 1;
  readonly utc: string;
  readonly rota: string;
  readonly reference: Scored;
  /** Tokens a window, the first `context` of which are read as a prompt and not counted. */
  readonly window: number;
  readonly context: number;
  /** How the counted tokens were read: routed as decode is, or as a prompt. */
  readonly rows: 'decode' | 'prompt';
  /** Where the text of each class is from. */
  readonly sources: Readonly<Record<string, string>>;
  readonly arms: readonly ArmScore[];
  /** Measured rates of the same settings, from a run that was named. Null: none was. */
  readonly rates: {
    readonly run: string;
    readonly of: readonly MeasuredRate[];
  } | null;
}
