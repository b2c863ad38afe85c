// The verdict: derived from plan and journal, the same bytes each time. Data only.

import type { Bandwidths, ChannelName } from '../roofline/ceiling.ts';
import type { Lookups } from './answer.ts';
import type { PassCauses } from './causes.ts';
import type { Decision, ForeignProgram, GpuThrottle } from './journal.ts';

export type OutputVerdict = 'L0' | 'L1' | 'L2' | 'L3' | 'LX';
/** `steadier`: same output, equivalent mean, smaller spread between runs. */
export type SpeedVerdict =
  | 'faster'
  | 'slower'
  | 'steadier'
  | 'equivalent'
  | 'non-inferior'
  | 'inconclusive'
  | 'baseline';

/** lower, estimate, upper: a ratio, of speeds at the level at which this comparison was decided in its family */
export type Interval = readonly [number, number, number];

/** How a comparison of speeds was made. */
export interface ComparisonTest {
  /** `block model`: one error of all arms, Dunnett. `own pairs`: its own differences from the baseline, Holm. */
  readonly method: 'block model' | 'own pairs';
  /** Of "no difference", adjusted for the whole family of comparisons, but not for looks: compare it with the look's level. */
  readonly p: number;
  /** Two-sided error at which this one comparison was decided. */
  readonly level: number;
  readonly df: number;
  /** Standard deviation of ln(arm / baseline) between blocks. */
  readonly sd: number;
  /** It or the baseline spread, or may spread, more than the others do, so it is judged by its own pairs. */
  readonly unequal: boolean;
}

/** Median of the averages of pairs, beside the mean: an estimate that one wild block does not move. */
export interface RobustEstimate {
  readonly ratio: Interval;
  /** It differs from the mean by more than half of the mean's standard error. */
  readonly outlierDriven: boolean;
}

/** One arm over all classes. */
export interface Headline {
  readonly arm: string;
  readonly speed: SpeedVerdict;
  /** Each class with the same weight. */
  readonly ratio: Interval | null;
  readonly dependsOnContent: boolean;
  /** p-value of "the effect is the same in all classes"; null: could not be tested. */
  readonly interactionP: number | null;
  /** The classes with the smallest and the largest effect. */
  readonly range: readonly { readonly class: string; readonly ratio: number }[];
  readonly line: string;
}

/** Standard deviations of ln tok/s by where they come from; null where the record cannot tell. */
export interface ClassComponents {
  readonly class: string;
  readonly request: number | null;
  readonly run: number | null;
  readonly block: number | null;
}

/** What the arbiter found besides the word, an arm against the baseline. `null`: not known. */
export interface OutputEvidence {
  /** Requests that both answered, and those of them with other ids. */
  readonly compared: number;
  readonly differing: number;
  /** Arbitration runs honour the end token: tokens of the arm less those of the baseline, and the baseline's. */
  readonly deltaTokens: number | null;
  readonly baseTokens: number | null;
  readonly firstDivergence: FirstDivergence | null;
  /** Fixed texts, teacher-forced. `null`: unscored. */
  readonly score: Score | null;
}

export interface FirstDivergence {
  readonly run: string;
  readonly prompt: string;
  /** The first that differs is token 1. */
  readonly token: number;
  /** Log-probability of the baseline's token less that of the arm's, both by the baseline; null where it was not asked. */
  readonly gapNats: number | null;
}

export interface Score {
  readonly texts: number;
  readonly tokens: number;
  /** Perplexity of the arm over that of the baseline: estimate, and a 95 % t interval over texts where there are two. */
  readonly perplexityRatio: number;
  readonly interval: readonly [number, number] | null;
  /** Share of places where both think the same token the likeliest. */
  readonly sameTop1: number;
}

/** Δln tok/s = Δln tokens/pass − Δln ms/pass: why an arm is faster. Means over the blocks that have both. */
export interface SpeedSplit {
  readonly tokPerSec: number;
  readonly tokensPerPass: number;
  readonly msPerPass: number;
}

export interface ArmClassVerdict {
  readonly arm: string;
  readonly class: string;
  readonly output: OutputVerdict;
  readonly outputReason: string;
  readonly speed: SpeedVerdict;
  /** arm / baseline of tok/s; null for the baseline or with fewer than two blocks. */
  readonly ratio: Interval | null;
  /** Null where there is no ratio. */
  readonly test: ComparisonTest | null;
  /** From six blocks on. */
  readonly robust: RobustEstimate | null;
  /** Standard deviation of ln tok/s between runs, and its interval at 95 %. */
  readonly spread: Interval | null;
  /** The arm's spread over the baseline's. */
  readonly spreadRatio: Interval | null;
  readonly tokPerSec: number | null;
  readonly tokensPerPass: number | null;
  readonly msPerPass: number | null;
  readonly prefillTokPerSec: number | null;
  readonly ttftMs: number | null;
  readonly loadS: number | null;
  /** Absent: nothing is known but msPerPass. */
  readonly causes?: PassCauses;
  readonly hostBytesPerToken: number | null;
  readonly deviceBytesPerToken: number | null;
  /** Of the host's bytes, those read from a file. Absent: written by an older rota. */
  readonly fileBytesPerToken?: number | null;
  readonly ceilingTokPerSec: number | null;
  /** The channel whose bytes take longest. Absent: no ceiling. */
  readonly binds?: ChannelName;
  /** tokPerSec / ceilingTokPerSec */
  readonly ceilingShare: number | null;
  readonly lookups: Lookups & { readonly total: number | null };
  readonly rows: number | null;
  readonly passes: number | null;
  readonly acceptance: number | null;
  /** An estimate from sampled power of the GPUs. Absent: none was sampled. */
  readonly joulesPerToken?: number;
  readonly blocks: number;
  /** sha256 over the ids of every measured request, in block and prompt order. */
  readonly idsSha256: string | null;
  readonly command: string;
  /** Absent: the baseline, or a record without a counterpart. */
  readonly evidence?: OutputEvidence;
  readonly split?: SpeedSplit;
  /** Knobs of other value than the baseline's that left no trace: no counter, byte, log line or token. Absent: none. */
  readonly deadKnobs?: readonly string[];
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

/** A block that counts although others used the machine while it was measured, or a try of one that does not for it. */
export interface DisturbedBlock {
  readonly block: number;
  /** How often it was measured: all tries but the last were spoilt too. */
  readonly tries: number;
  /** Cores that others kept busy, mean over its measured windows by their length; null where only a GPU was shared. */
  readonly foreignCores: number | null;
  /** The same as a share of all cores. */
  readonly foreignCpuShare: number | null;
  /** Part of it that the hypervisor gave to other guests. */
  readonly stolenCores: number | null;
  readonly programs: readonly ForeignProgram[];
}

export interface SpoiltTry {
  readonly block: number;
  readonly try: number;
  readonly run: string;
  readonly reason: string;
}

/** What others did to the measurement. Absent in a verdict: nothing. */
export interface ForeignLoad {
  /** Tries that were measured again and do not count, in the order of time. */
  readonly spoilt: readonly SpoiltTry[];
  /** Load that could not be avoided, or that the protocol only flags: these blocks count. */
  readonly disturbed: readonly DisturbedBlock[];
}

/** A part of the calibration loop, which is the same work each time: over all times that it ran. */
export interface CalibrationPart {
  readonly fastestMs: number;
  readonly medianMs: number;
  /** How much longer it took at the end of the measurement than at its start, as a share, by a straight line; null: too few. */
  readonly drift: number | null;
  /** Of "no drift". */
  readonly driftP: number | null;
}

/** What slowed the machine leans to one arm: an effect of that arm, for which nothing is left out. */
export interface Lean {
  readonly arm: string;
  readonly of: 'arithmetic' | 'memory' | 'thermal throttling' | 'quota throttling' | GpuThrottle;
  /**
   * Of a part of the loop: how much longer it took after the arm's runs than before them, as a share, and the same of the other arms.
   * Of throttling: the share of runs in which there was any.
   */
  readonly own: number;
  readonly others: number;
  readonly p: number;
  readonly text: string;
}

/** The machine itself, by a fixed loop before and after each run. */
export interface Calibration {
  readonly runs: number;
  readonly arithmetic: CalibrationPart;
  readonly memory: CalibrationPart;
  readonly leans: readonly Lean[];
}

/** An arm against the baseline in the blocks with the background, or in those without. */
export interface BackgroundEffect {
  readonly arm: string;
  readonly class: string;
  readonly beside: boolean;
  readonly blocks: number;
  /** 95 % of this one comparison; null with fewer than two blocks. */
  readonly ratio: Interval | null;
}

/** Whether an arm's effect is another one beside the background. */
export interface BackgroundInteraction {
  readonly arm: string;
  readonly class: string;
  /** Its ratio beside the background over its ratio without. */
  readonly ratio: Interval | null;
  /** Of "the same", adjusted for all arms and classes; null: one level has no block, or there is no spread to tell. */
  readonly p: number | null;
}

/** Load that the protocol asked for: a factor, not a fault. */
export interface BackgroundFinding {
  readonly name: string;
  readonly blocks: readonly number[];
  /** Over the measured windows beside it, by their length; by arm too, for an arm may leave it more or less of the machine. */
  readonly cores: number | null;
  readonly readBytesPerSec: number | null;
  readonly coresByArm: readonly { readonly arm: string; readonly cores: number | null }[];
  readonly effects: readonly BackgroundEffect[];
  /** Empty where it runs in all blocks. */
  readonly interactions: readonly BackgroundInteraction[];
  /** One sentence for each arm and class. */
  readonly lines: readonly { readonly arm: string; readonly class: string; readonly line: string }[];
}

export interface Verdict {
  readonly schemaVersion: 1;
  readonly protocol: string;
  readonly runFolder: string;
  readonly device: string | null;
  /** Of the models that do not stand for real ones, what may be concluded. Absent: all do. */
  readonly subject?: string;
  readonly baseline: string;
  readonly complete: boolean;
  readonly exitCode: number;
  readonly runs: readonly { readonly id: string; readonly status: 'ok' | 'void' | 'missing' }[];
  /** What was decided on the way: looks, screening. */
  readonly decisions: readonly Decision[];
  /** Runs that count, in the order in which they were started. */
  readonly executed: readonly string[];
  readonly arms: readonly ArmClassVerdict[];
  /** Empty with a single class. */
  readonly headlines: readonly Headline[];
  readonly components: readonly ClassComponents[];
  readonly ceilings: Bandwidths;
  readonly foreignLoad?: ForeignLoad;
  /** Absent: a record without a calibration loop. */
  readonly calibration?: Calibration;
  /** Absent: the protocol has none. */
  readonly background?: BackgroundFinding;
  /** What a reader must know before believing the table: foreign load, not steady, identities that failed. */
  readonly warnings: readonly string[];
  /** What bounds each arm, all its classes together, in one line. Absent: written by an older rota. */
  readonly bounds?: readonly { readonly arm: string; readonly line: string }[];
  readonly journalSha256: string;
}
