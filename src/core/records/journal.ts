// The journal's events: append only, everything else is derived from them. Data only.

import type { EngineReady, GenerateResult } from './answer.ts';

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
      /** The guard that ended it, in words. Absent: none did. */
      readonly tripped?: string;
      readonly logTail: readonly string[];
    }
  | { readonly type: 'interrupted'; readonly utc: string; readonly signal: string }
  /** Rota itself ended the session, as the protocol wants. */
  | { readonly type: 'aborted'; readonly utc: string; readonly reason: string }
  | { readonly type: 'session_end'; readonly utc: string };
