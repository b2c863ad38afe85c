// The journal's events: append only, everything else is derived from them. Data only.

import type { EngineReady, GenerateResult } from './answer.ts';
import type { RunLedger } from './ledger.ts';

/** Load of the machine while a window ran. Shares are of all cores, 0..1. `null` = could not be read. */
export interface WindowLoad {
  readonly ownCpuShare: number | null;
  /** What neither the engine, Rota, a background of the protocol nor the kernel itself used; stolen time is in it. */
  readonly foreignCpuShare: number | null;
  /** All cores of the machine, of which shares are told. Absent with the next three: not read, or a stretch too short to tell. */
  readonly cores?: number;
  /** Time that the hypervisor gave to other guests. */
  readonly stolenCpuShare?: number;
  /** Interrupts and the kernel's threads, which work for whoever asked. */
  readonly kernelCpuShare?: number;
  /** Those that used most, the first the most. */
  readonly foreignPrograms?: readonly ForeignProgram[];
  /** Of the load that the protocol asks for. Absent: none was running. */
  readonly backgroundCpuShare?: number;
  readonly backgroundReadBytes?: number | null;
  /** Busy share of one core, by engine thread name. */
  readonly threadCpuShare: Readonly<Record<string, number>> | null;
  /** Rota's own process, share of one core. */
  readonly rotaCpuShare: number | null;
  readonly loadAverage1: number | null;
  readonly memAvailableBytes: number | null;
  readonly diskReadBytes: number | null;
  readonly gpus: readonly GpuLoad[] | null;
}

/** A program of somebody else, by the name of its process, and how many cores it kept busy. */
export interface ForeignProgram {
  readonly name: string;
  readonly cores: number;
}

/** What may hold a GPU below the clocks it was asked for. */
export type GpuThrottle =
  | 'power cap'
  | 'hardware slowdown'
  | 'sync boost'
  | 'software thermal slowdown'
  | 'hardware thermal slowdown'
  | 'power brake';

export interface GpuLoad {
  readonly uuid: string;
  readonly utilizationPercent: number | null;
  readonly ownMemoryBytes: number | null;
  readonly foreignMemoryBytes: number | null;
  readonly smClockMhz: number | null;
  readonly powerWatts: number | null;
  readonly temperatureC: number | null;
  /** Seen at any time of the window. Absent: not told. */
  readonly throttles?: readonly GpuThrottle[];
}

/** `arbitrate`: never timed; greedy as the others, but the end token is honoured. */
export type WindowKind = 'warmup' | 'prime' | 'measure' | 'arbitrate';

export type RunStatus = 'ok' | 'void';

/** A fixed text, teacher-forced: what the engine thought of each of its tokens. */
export interface ScoreEvent {
  readonly type: 'score';
  readonly utc: string;
  readonly run: string;
  readonly class: string;
  /** A warm-up prompt: the set that quality is read from is never the one that speed is read from. */
  readonly prompt: string;
  readonly tokens: number;
  /** Natural logarithms; one fewer than tokens, the first has no context. */
  readonly logprobs: readonly number[];
  readonly top1: readonly number[];
  /** Of the logits behind the last token, the text read as a prompt. */
  readonly logitsSha256: string | null;
  /** How the text was read for `logprobs` and `top1`: routed as decode is, or as a prompt. Absent: as a prompt. */
  readonly rows?: 'decode' | 'prompt';
}

/** Where an arm first said something else than the baseline: what the baseline thought of both tokens. */
export interface GapEvent {
  readonly type: 'gap';
  readonly utc: string;
  /** The run of the baseline that was asked. */
  readonly run: string;
  readonly arm: string;
  readonly class: string;
  readonly prompt: string;
  /** Tokens that both said before. */
  readonly index: number;
  readonly baseLogprob: number;
  readonly armLogprob: number;
}

/** The same short work before and after each run, when no engine runs: what the machine itself could do. */
export interface CalibrationEvent extends CalibrationReading {
  readonly type: 'calibration';
  readonly utc: string;
  readonly run: string;
  readonly when: 'before' | 'after';
}

export interface CalibrationReading {
  /** The fastest of several repeats, so that a moment of others does not show: a fixed count of dependent integer operations, one core. */
  readonly arithmeticMs: number;
  /** The same of a copy of memory that is larger than the caches. */
  readonly memoryMs: number;
  /** Mean of the cores' clocks at that moment. `null`: not told here. */
  readonly clockMhz: number | null;
  /** Since boot: how often a core or package was too hot. `null`: not told here. */
  readonly thermalThrottles: number | null;
  /** In how many periods the quota of Rota's control group was used up. `null`: not told here. */
  readonly quotaThrottles: number | null;
}

/** What was decided after a block that the plan had named for it. */
export interface Decision {
  readonly afterBlock: number;
  /** Nothing of the plan is run any more. */
  readonly stop: boolean;
  readonly because: 'open' | 'difference' | 'precision' | 'equivalence' | 'futility' | 'screening';
  /** Arms that are not run any more. */
  readonly leftOut: readonly string[];
  /** One sentence for a person. */
  readonly reason: string;
}

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
      /** Of the device's memory, read and written. Absent, as the next: no arm has a device of its own. */
      readonly deviceCopyBytesPerSec?: number;
      /** From the host's memory to the device's. */
      readonly toDeviceBytesPerSec?: number;
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
  | ScoreEvent
  | GapEvent
  | {
      readonly type: 'run_end';
      readonly utc: string;
      readonly run: string;
      readonly status: RunStatus;
      readonly reason: string | null;
      readonly exit: number | string | null;
      readonly memoryReleased: boolean | null;
      readonly releaseMs: number | null;
      /** The guard that ended it, in words. Absent: none did. */
      readonly tripped?: string;
      readonly logTail: readonly string[];
      /** Over the kinds of lines of its log, numbers left out: a knob that changes none of them leaves no trace there. Absent: not read. */
      readonly logShapeSha256?: string;
      /** Absent: the engine wrote none. */
      readonly ledger?: RunLedger;
    }
  /**
   * Others disturbed a run, and the guard wants its block measured again: no run of the block that started before this counts.
   * `try` is the one that is spoilt, the first is 1.
   */
  | {
      readonly type: 'block_spoilt';
      readonly utc: string;
      readonly block: number;
      readonly try: number;
      /** The run in which it was seen, and what. */
      readonly run: string;
      readonly reason: string;
      readonly foreignPrograms: readonly ForeignProgram[];
    }
  | CalibrationEvent
  | {
      readonly type: 'background_start';
      readonly utc: string;
      readonly block: number;
      readonly argv: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly pid: number;
    }
  | {
      readonly type: 'background_end';
      readonly utc: string;
      readonly block: number;
      /** It ended before it was asked to. */
      readonly early: boolean;
      readonly exit: number | string | null;
      /** Answers and tokens of an engine. Absent: a command. */
      readonly answers?: number;
      readonly tokens?: number;
    }
  | { readonly type: 'decision'; readonly utc: string; readonly decision: Decision }
  | { readonly type: 'interrupted'; readonly utc: string; readonly signal: string }
  /** Rota itself ended the session, as the protocol wants. */
  | { readonly type: 'aborted'; readonly utc: string; readonly reason: string }
  | { readonly type: 'session_end'; readonly utc: string };
