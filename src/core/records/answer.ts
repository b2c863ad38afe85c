// What an engine answers, in the one vocabulary. Data only. Units live in names; a number that is not known is `null` and is
// printed `n/a`; it is never 0 and never NaN.

export interface Lookups {
  readonly hit: number | null;
  readonly pcie: number | null;
  readonly cpu: number | null;
  readonly file: number | null;
  readonly skipped: number | null;
}

/** Bytes by the channel that moved them, during decode. */
export interface ChannelBytes {
  readonly hit: number | null;
  readonly pcie: number | null;
  readonly cpu: number | null;
  readonly file: number | null;
  readonly dense: number | null;
  readonly engram: number | null;
}

/**
 * How an engine's lookup counters add up. file `disjoint`: a file read is counted only as file; `subset`: also as cpu.
 * unit `lookup`: one (row, layer, expert); `blob`: one distinct expert of a pass.
 */
export interface CountingRule {
  readonly file: 'disjoint' | 'subset';
  readonly unit: 'lookup' | 'blob';
}

/** The one vocabulary. Decode of the target model only; prefill and draft lookups are apart. */
export interface Counters {
  readonly passes: number | null;
  readonly rows: number | null;
  readonly lookups: number | null;
  readonly bySource: Lookups;
  readonly bytes: ChannelBytes;
  readonly offered: number | null;
  readonly accepted: number | null;
  /** File reads that a prefetch had started and that were not finished when needed. Depends on time: never compared. */
  readonly late: number | null;
}

export interface EngineReady {
  readonly device: string;
  /** Of what decides the answers. */
  readonly fingerprint: string | null;
  /** Of the weights that only draft. Absent: not told, and perhaps in `fingerprint`. Null: nothing drafts. */
  readonly draftFingerprint?: string | null;
  /** What may be concluded from it, in the engine's own words: of synthetic weights speed alone. Absent: everything. */
  readonly subject?: string;
  readonly moeLayers: number | null;
  readonly topK: number | null;
  readonly vocab: number | null;
  readonly lossyKnobs: readonly string[];
  /** All bytes of weights that decode may touch, whatever tier they live in. Absent or null: not told. */
  readonly weightBytes?: number | null;
  /** The engine's own ready message, whole. */
  readonly raw: unknown;
}

export interface GenerateRequest {
  readonly prompt: readonly number[];
  readonly maxNew: number;
  readonly temperature: number;
  readonly topP: number;
  readonly seed: number;
  readonly ignoreEos: boolean;
  readonly stop: readonly number[];
}

export interface GenerateResult {
  /** Null where the engine gives none, and in the record of a warm-up or prime window. So are text, passMs and raw. */
  readonly ids: readonly number[] | null;
  readonly text: string | null;
  readonly finish: string | null;
  /** n tokens came out. */
  readonly tokens: number;
  /** From the first token to the last, by the engine's clock. */
  readonly decodeMs: number | null;
  readonly promptTokens: number | null;
  readonly cachedPromptTokens: number | null;
  readonly prefillMs: number | null;
  /** From the request sent to the first token, by the engine's clock where it has one. */
  readonly ttftMs: number | null;
  /** To whole microseconds. */
  readonly passMs: readonly number[] | null;
  readonly counters: Counters;
  /** The engine's own answer, whole, but for the token ids and the times of passes that stand above. */
  readonly raw: unknown;
}
