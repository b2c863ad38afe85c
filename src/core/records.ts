// The shapes that cross rooms: what an engine answers, the plan, the journal and the verdict. Data only, no logic.
// Units live in names. A number that is not known is `null` and is printed `n/a`; it is never 0 and never NaN.

// ---------------------------------------------------------------- what an engine answers

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
  readonly fingerprint: string | null;
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
  readonly passMs: readonly number[] | null;
  readonly counters: Counters;
  /** The engine's own answer, whole, without the token ids. */
  readonly raw: unknown;
}

// ---------------------------------------------------------------- the plan (written before anything runs)

export interface PlannedPrompt {
  readonly id: string;
  readonly text: string;
}

export interface PlannedWorkload {
  readonly class: string;
  readonly maxNew: number;
  readonly ignoreEos: boolean;
  /** Which prompts a block uses (entry 0 for block 1, the first): the same for every arm of the block. */
  readonly promptsByBlock: readonly (readonly PlannedPrompt[])[];
  /** Never measured. */
  readonly warmupPrompts: readonly PlannedPrompt[];
}

export interface PlannedArm {
  readonly name: string;
  readonly engine: string;
  readonly model: string;
  readonly knobs: Readonly<Record<string, string | number | boolean>>;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Knobs set on this arm and not on the baseline whose descriptor says `lossy`. */
  readonly lossyKnobs: readonly string[];
  /** From the engine's descriptor; absent: the vocabulary's own rule, disjoint lookups. */
  readonly counting?: CountingRule;
  /** Overrides that make "same output" impossible: other weights, other sampling, other engine. Empty for most arms. */
  readonly overrides: readonly string[];
}

export interface PlannedRun {
  /** "b1.p2.bias": block 1, position 2, arm. Unique in a plan. */
  readonly id: string;
  readonly block: number;
  readonly position: number;
  readonly arm: string;
}

export interface WarmupRule {
  readonly floorPromptsPerClass: number;
  readonly floorTokens: number;
  readonly windows: number;
  readonly maxSlopePerWindow: number;
  readonly maxHitRatioChange: number;
  readonly capRequests: number;
  readonly capSeconds: number;
}

export interface Guards {
  /** Share of all cores that foreign processes may use in a window before it is flagged. */
  readonly foreignCpuShare: number;
  readonly foreignGpuPercent: number;
}

export interface Plan {
  readonly schemaVersion: 1;
  readonly rota: string;
  readonly protocol: string;
  readonly protocolSha256: string;
  readonly createdUtc: string;
  readonly seed: number;
  /** `balanced`: rows of Williams squares, but not whole squares. */
  readonly orderKind: 'williams' | 'abba' | 'balanced' | 'random';
  readonly blocks: number;
  readonly baseline: string;
  readonly arms: readonly PlannedArm[];
  readonly runs: readonly PlannedRun[];
  readonly workloads: readonly PlannedWorkload[];
  readonly sampling: { readonly temperature: number; readonly topP: number; readonly seed: number };
  readonly warmup: WarmupRule;
  readonly telemetryPeriodMs: number;
  readonly guards: Guards;
  readonly margin: number;
  readonly expectedMinutes: number | null;
  /** Smallest effect seen with 80 % power at the assumed spread, as a share (0.02 = 2 %), and where the spread is from. */
  readonly minDetectableEffect: number | null;
  readonly assumedSpread: { readonly value: number; readonly source: string };
}

// ---------------------------------------------------------------- the journal (append only; everything else is derived)

/** Load of the machine while a window ran. Shares are of all cores, 0..1. `null` = could not be read. */
export interface WindowLoad {
  readonly ownCpuShare: number | null;
  readonly foreignCpuShare: number | null;
  /** Busy share of one core, by engine thread name. */
  readonly threadCpuShare: Readonly<Record<string, number>> | null;
  /** Rota's own process, share of one core. */
  readonly rotaCpuShare: number | null;
  readonly loadAverage1: number | null;
  readonly memAvailableBytes: number | null;
  readonly diskReadBytes: number | null;
  readonly gpus: readonly GpuLoad[] | null;
}

export interface GpuLoad {
  readonly uuid: string;
  readonly utilizationPercent: number | null;
  readonly ownMemoryBytes: number | null;
  readonly foreignMemoryBytes: number | null;
  readonly smClockMhz: number | null;
  readonly powerWatts: number | null;
  readonly temperatureC: number | null;
}

export type WindowKind = 'warmup' | 'prime' | 'measure';

export type RunStatus = 'ok' | 'void';

export type JournalEvent =
  | {
      readonly type: 'session';
      readonly utc: string;
      readonly resumed: boolean;
      /** Bytes of a broken-off last line that were cut aside before this session went on. Absent: none. */
      readonly tornBytes?: number;
      readonly machine: unknown;
      readonly rota: string;
      readonly pid: number;
    }
  | {
      readonly type: 'ceiling';
      readonly utc: string;
      readonly when: 'before' | 'after';
      readonly memoryReadBytesPerSec: number | null;
      readonly fileReadBytesPerSec: number | null;
      readonly raw: unknown;
    }
  | {
      readonly type: 'run_start';
      readonly utc: string;
      readonly run: string;
      readonly attempt: number;
      readonly block: number;
      readonly position: number;
      readonly arm: string;
      readonly argv: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly pid: number;
    }
  | {
      readonly type: 'ready';
      readonly utc: string;
      readonly run: string;
      readonly loadMs: number;
      readonly ready: EngineReady;
    }
  | {
      readonly type: 'warmup_end';
      readonly utc: string;
      readonly run: string;
      readonly requests: number;
      readonly tokens: number;
      readonly seconds: number;
      readonly steady: boolean;
      readonly reason: string;
    }
  | {
      readonly type: 'window';
      readonly utc: string;
      readonly run: string;
      readonly kind: WindowKind;
      readonly class: string;
      readonly prompt: string;
      readonly startedMs: number;
      readonly wallMs: number;
      readonly result: GenerateResult;
      readonly idsSha256: string | null;
      readonly load: WindowLoad;
      readonly flags: readonly string[];
    }
  | {
      readonly type: 'run_end';
      readonly utc: string;
      readonly run: string;
      readonly status: RunStatus;
      readonly reason: string | null;
      readonly exit: number | string | null;
      readonly memoryReleased: boolean | null;
      readonly releaseMs: number | null;
      readonly logTail: readonly string[];
    }
  | { readonly type: 'interrupted'; readonly utc: string; readonly signal: string }
  | { readonly type: 'session_end'; readonly utc: string };

// ---------------------------------------------------------------- the verdict (derived; byte-stable)

export type OutputVerdict = 'L0' | 'L1' | 'L2' | 'L3' | 'LX';
export type SpeedVerdict = 'faster' | 'slower' | 'equivalent' | 'non-inferior' | 'inconclusive' | 'baseline';

/** lower, estimate, upper: a ratio of speeds, at the level at which Holm's procedure decided this comparison */
export type Interval = readonly [number, number, number];

export interface ArmClassVerdict {
  readonly arm: string;
  readonly class: string;
  readonly output: OutputVerdict;
  readonly outputReason: string;
  readonly speed: SpeedVerdict;
  /** arm / baseline of tok/s; null for the baseline or with fewer than two blocks. */
  readonly ratio: Interval | null;
  readonly tokPerSec: number | null;
  readonly tokensPerPass: number | null;
  readonly msPerPass: number | null;
  readonly prefillTokPerSec: number | null;
  readonly ttftMs: number | null;
  readonly loadS: number | null;
  readonly hostBytesPerToken: number | null;
  readonly deviceBytesPerToken: number | null;
  readonly ceilingTokPerSec: number | null;
  /** tokPerSec / ceilingTokPerSec */
  readonly ceilingShare: number | null;
  readonly lookups: Lookups & { readonly total: number | null };
  readonly rows: number | null;
  readonly passes: number | null;
  readonly acceptance: number | null;
  readonly blocks: number;
  /** sha256 over the ids of every measured request, in block and prompt order. */
  readonly idsSha256: string | null;
  readonly command: string;
  /** The same counters block by block, so that two sessions can be compared. */
  readonly perBlock: readonly {
    readonly block: number;
    readonly run: string;
    readonly tokPerSec: number | null;
    readonly idsSha256: string | null;
    readonly passes: number | null;
    readonly lookups: Lookups;
  }[];
  /** One sentence for a person. */
  readonly line: string;
}

export interface Verdict {
  readonly schemaVersion: 1;
  readonly protocol: string;
  readonly runFolder: string;
  readonly device: string | null;
  readonly baseline: string;
  readonly complete: boolean;
  readonly exitCode: number;
  readonly runs: readonly { readonly id: string; readonly status: 'ok' | 'void' | 'missing' }[];
  readonly arms: readonly ArmClassVerdict[];
  readonly ceilings: {
    readonly memoryReadBytesPerSec: number | null;
    readonly fileReadBytesPerSec: number | null;
  };
  /** What a reader must know before believing the table: foreign load, not steady, identities that failed. */
  readonly warnings: readonly string[];
  readonly journalSha256: string;
}
