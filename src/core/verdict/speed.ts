// The speed verdict: paired log ratios, pooled where the arms have one error, one family of comparisons, one word each. Knows rates by
// block, no engine.

import type { Interval, SpeedVerdict } from '../records/verdict.ts';
import { blockModel, unequalArms } from '../stats/block-model.ts';
import { dunnettCritical } from '../stats/dunnett.ts';
import { isEquivalent, isNonInferior } from '../stats/equivalence.ts';
import { type HolmStep, holm } from '../stats/holm.ts';
import { type Paired, pairedEstimate, pairedInterval } from '../stats/paired.ts';
import { tTwoSided } from '../stats/student.ts';
import { completePart, logRatios, type RateTable } from './rates.ts';

/** How a comparison was made; enough to say what it could have seen. */
export interface SpeedTest {
  /** `block model`: the error of all arms pooled, Dunnett. `own pairs`: its own differences from the baseline, Holm. */
  readonly method: 'block model' | 'own pairs';
  readonly n: number;
  /** Of ln(arm / baseline), and the standard deviation of one block's difference. */
  readonly mean: number;
  readonly sd: number;
  readonly df: number;
  /** Two-sided error at which this one comparison is decided. */
  readonly level: number;
  /** Arms that are judged by the pooled error; 1 for own pairs. */
  readonly pooledArms: number;
  /** Part of the family's error that its procedure may spend. */
  readonly share: number;
  /** Holm's adjusted p-value within that part; null for the block model, whose p is Dunnett's. */
  readonly holmP: number | null;
}

export interface SpeedFinding {
  readonly arm: string;
  readonly class: string;
  readonly speed: Exclude<SpeedVerdict, 'baseline' | 'steadier'>;
  readonly ratio: Interval | null;
  /** Blocks with both rates. */
  readonly blocks: number;
  readonly test: SpeedTest | null;
  /** It or the baseline spread, or may spread, more than the others do, so it is judged by its own pairs. */
  readonly unequal: boolean;
}

/** Chance that any comparison of the family is called different when none is. */
export const FAMILY_ALPHA = 0.05;
/** Below four blocks no test tells arms of unequal spread: nothing is pooled. */
export const POOL_FLOOR = 4;

export interface SpeedRules {
  readonly margin: number;
  /** What may be used now of a share of the family's error, where looks are still to come. Absent: all of it. */
  readonly spend?: (alpha: number) => number;
}

/**
 * The family is every arm against the baseline in every table. A class whose arms have one error shares it and is judged by
 * Dunnett, with the share of the family's error that its comparisons are of all; what is left is judged by its own pairs, by Holm
 * with the rest. So the whole family errs at most at FAMILY_ALPHA.
 */
export function judgeSpeed(
  tables: readonly RateTable[],
  { margin, spend = (all) => all }: SpeedRules,
): SpeedFinding[] {
  const drafts = tables.flatMap(draftsOf);
  const share = (part: number): number => (FAMILY_ALPHA * part) / drafts.length;
  const own = drafts.filter((draft) => draft.pool === null);
  const steps = holm(
    // What could not be measured is not rejected and keeps its place in the family.
    own.map(({ pairs }) => pairs?.p ?? 1),
    share(own.length),
    spend,
  );
  return drafts.map((draft) => {
    const { arm, class: name, blocks, pairs, pool, unequal } = draft;
    if (pairs === null)
      return { arm, class: name, speed: 'inconclusive', ratio: null, blocks, test: null, unequal };
    const test =
      pool === null
        ? pairsTest(pairs, steps[own.indexOf(draft)], own.length / drafts.length)
        : poolTest(pairs, pool, spend(share(pool.arms)), pool.arms / drafts.length);
    const [low, high] = pairedInterval(test, test.level);
    const ratio: Interval = [Math.exp(low), Math.exp(test.mean), Math.exp(high)];
    return { arm, class: name, speed: speedWord([ratio[0], ratio[2]], margin), ratio, blocks, test, unequal };
  });
}

interface Pool {
  /** Arms that are judged by it. */
  readonly arms: number;
  readonly sd: number;
  readonly df: number;
}

interface Draft {
  readonly arm: string;
  readonly class: string;
  readonly blocks: number;
  readonly pairs: Paired | null;
  /** Null: judged by its own pairs. */
  readonly pool: Pool | null;
  readonly unequal: boolean;
}

function draftsOf(table: RateTable): Draft[] {
  const { columns, rows } = completePart(table);
  const isPoolable = columns.length >= 3 && columns[0] === 0 && rows.length >= POOL_FLOOR;
  const unequal = isPoolable ? unequalArms(rows) : { apart: [], doubtful: [] };
  const named = (list: readonly number[]): Set<number | undefined> =>
    new Set(list.map((each) => columns[each]));
  const loud = named([...unequal.apart, ...unequal.doubtful]);
  const inError = columns.map((_, each) => each).filter((each) => !unequal.apart.includes(each));
  const judged = columns.filter((arm) => arm !== 0 && !loud.has(arm));
  // Two arms or a loud baseline leave nothing to pool; so do runs without any spread.
  const model =
    isPoolable && judged.length >= 2 && !loud.has(0)
      ? blockModel(rows.map((row) => inError.map((each) => row[each] ?? 0)))
      : null;
  const pool =
    model === null || model.error <= 1e-22
      ? null
      : { arms: judged.length, sd: Math.sqrt(2 * model.error), df: model.df };
  return table.arms.slice(1).map((arm, index) => {
    const differences = logRatios(table, index + 1);
    return {
      arm,
      class: table.class,
      blocks: differences.length,
      pairs: pairedEstimate(differences),
      pool: judged.includes(index + 1) ? pool : null,
      unequal: loud.has(index + 1) || (isPoolable && loud.has(0)),
    };
  });
}

function pairsTest({ n, mean, sd }: Paired, step: HolmStep | undefined, share: number): SpeedTest {
  const { level, adjusted } = step ?? { level: FAMILY_ALPHA, adjusted: 1 };
  return { method: 'own pairs', n, mean, sd, df: n - 1, level, pooledArms: 1, share, holmP: adjusted };
}

/** Dunnett's simultaneous level, said as the level of the one comparison. */
function poolTest({ n, mean }: Paired, { arms, sd, df }: Pool, alpha: number, share: number): SpeedTest {
  const level = tTwoSided(dunnettCritical(alpha, arms, df), df);
  return { method: 'block model', n, mean, sd, df, level, pooledArms: arms, share, holmP: null };
}

/** From an interval of the ratio: a difference that is certain comes before one that is certainly small. */
export function speedWord(
  interval: readonly [number, number],
  margin: number,
): 'faster' | 'slower' | 'equivalent' | 'non-inferior' | 'inconclusive' {
  if (interval[0] > 1) return 'faster';
  if (interval[1] < 1) return 'slower';
  if (isEquivalent(interval, margin)) return 'equivalent';
  return isNonInferior(interval, margin) ? 'non-inferior' : 'inconclusive';
}
