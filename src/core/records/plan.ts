// The plan: what is written before anything runs. Data only.

import type { CountingRule } from './answer.ts';

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

export interface Sampling {
  readonly temperature: number;
  readonly topP: number;
  readonly seed: number;
}

export interface PlannedArm {
  readonly name: string;
  readonly engine: string;
  readonly model: string;
  readonly knobs: Readonly<Record<string, string | number | boolean>>;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Knobs of which this arm has another value than the baseline and whose descriptor says `lossy`. */
  readonly lossyKnobs: readonly string[];
  /** Lossy knobs that this arm turns, whatever the baseline does. Absent: none. */
  readonly lossyInUse?: readonly string[];
  /** From the engine's descriptor; absent: the vocabulary's own rule, disjoint lookups. */
  readonly counting?: CountingRule;
  /** What this arm has other than the protocol says: engine, build, model, sampling, in words. Empty for most arms. */
  readonly overrides: readonly string[];
  /** Absent: the plan's. */
  readonly sampling?: Sampling;
  /** Behind its command every run has this flag and a file in the run folder. Absent: its runs write no ledger there. */
  readonly ledgerFlag?: string;
  /** The program is built from this commit; `ref` is how the protocol names it. Absent: the program lies where it lies. */
  readonly build?: { readonly ref: string; readonly commit: string };
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

export type OnTrip = 'flag' | 'rerun' | 'abort';

/** What the arbiter asks in every run, after the measured windows. */
export interface ArbitrationRule {
  /** Prompts of each class, of those for warming up; 0: none. */
  readonly perClass: number;
  /** Answers end at the end token, or here. */
  readonly maxNew: number;
  /** Texts of each class that are teacher-forced, of those for warming up; 0: none. */
  readonly scoreTexts: number;
}

export interface Guards {
  /** Share of all cores that foreign processes may use in a window before it trips the guard. */
  readonly foreignCpuShare: number;
  readonly foreignGpuPercent: number;
  /** Absent: flag. */
  readonly onTrip?: OnTrip;
  /** How often a spoilt block is measured again, with `rerun`. Absent: 3. */
  readonly maxReruns?: number;
}

/** Looks after so many blocks, the last of them all; between two nothing is decided. */
export interface StopRule {
  readonly looks: readonly number[];
  /** Half-width of the interval, as a share, that is exact enough; null: a certain difference is enough. */
  readonly precision: number | null;
}

/** The first blocks only choose which arms go on; none of their rates is in a claim. */
export interface Sweep {
  readonly screen: number;
}

/** Load that the protocol wants beside its runs: its processes are neither the engine's own nor foreign. */
export interface PlannedBackground {
  readonly name: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Beside every run of these blocks, and of no other. */
  readonly blocks: readonly number[];
  readonly settleMs: number;
  /** It is an engine, which answers one request after the other. Absent: a command. */
  readonly serves?: { readonly engine: string; readonly model: string; readonly maxNew: number };
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
  readonly sampling: Sampling;
  readonly warmup: WarmupRule;
  /** Absent: the arbiter has the measured windows alone. */
  readonly arbitration?: ArbitrationRule;
  readonly telemetryPeriodMs: number;
  readonly guards: Guards;
  readonly margin: number;
  /** Absent: all blocks are run. */
  readonly stop?: StopRule;
  /** Absent: every arm is run in every block. */
  readonly sweep?: Sweep;
  /** Absent: none. */
  readonly background?: PlannedBackground;
  readonly expectedMinutes: number | null;
  /** Smallest effect seen with 80 % power at the assumed spread, as a share (0.02 = 2 %), and where the spread is from. */
  readonly minDetectableEffect: number | null;
  readonly assumedSpread: { readonly value: number; readonly source: string };
}
