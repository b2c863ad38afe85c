// The verdict: derived from plan and journal, the same bytes each time. Data only.

import type { Lookups } from './answer.ts';

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
  /** Lossy knobs in use. Absent: none. */
  readonly lossy?: readonly string[];
  /** Engine, build, model or sampling of its own, in words. Absent: none. */
  readonly overrides?: readonly string[];
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
