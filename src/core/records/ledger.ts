// One pass as an engine's ledger has it, and what a run's ledger came to. Data only. What a line does not say is null.

import type { ChannelBytes, Lookups } from './answer.ts';

/** Milliseconds by cause. `experts` holds `pool` and `fileWait`; `total` holds `draft`, `dense`, `experts` and a rest. */
export interface PassMs {
  readonly total: number | null;
  readonly draft: number | null;
  /** The forward outside the routed experts. */
  readonly dense: number | null;
  readonly experts: number | null;
  /** The CPU pool computing. */
  readonly pool: number | null;
  /** Nothing to compute until a read ended. */
  readonly fileWait: number | null;
}

/** What is counted of a pass, or of several. */
export interface PassCounts {
  readonly rows: number | null;
  readonly offered: number | null;
  readonly accepted: number | null;
  readonly bySource: Lookups;
  readonly bytes: ChannelBytes;
  readonly ms: PassMs;
}

export interface LedgerPass extends PassCounts {
  /** The engine's number of the request that the pass belongs to. */
  readonly request: number;
}

/** The sums of one measured window's passes. */
export interface LedgerWindow extends PassCounts {
  readonly request: number;
  readonly passes: number;
}

/** A run's ledger as it lies in the run folder: the lines of its measured windows, verbatim, compressed. */
export interface RunLedger {
  /** Relative to the run folder. */
  readonly file: string;
  /** Of the file's bytes. */
  readonly sha256: string;
  readonly lines: number;
  /** Bytes of a broken-off last line that the engine left. */
  readonly tornBytes: number;
  readonly windows: readonly LedgerWindow[];
}
