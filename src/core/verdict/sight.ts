// What a comparison could have seen, and how many blocks would see the margin. Knows the test that was made, no rates.

import { dunnettCritical } from '../stats/dunnett.ts';
import { blocksNeeded, minDetectableEffect, type TestLevel } from '../stats/power.ts';
import { tTwoSided } from '../stats/student.ts';
import { FAMILY_ALPHA, POOL_FLOOR, type SpeedTest } from './speed.ts';

const POWER = 0.8;
/** Power that the doubt about equal arms costs a pooled test on a quiet machine, by calibration. */
const DOUBT_COST = 0.1;

export interface Sight {
  /** The smallest share that these blocks could have seen with 80 % power, from the spread they showed. */
  readonly detectable: number | null;
  /** Blocks that would see the margin; null when too many. */
  readonly needed: number | null;
}

export function sightOf({ n, sd, df, level }: SpeedTest, margin: number): Sight {
  const test = { alpha: level, power: POWER, dfPerBlock: df / (n - 1) };
  return { detectable: minDetectableEffect(sd, n, test), needed: blocksNeeded(margin, sd, test) };
}

/**
 * The level and the degrees of freedom with which a comparison will be tested when all arms spread alike: Dunnett's with enough blocks
 * and arms, else that of Holm's first step, with which what is seen is surely seen.
 */
export function plannedLevel(comparedArms: number, classes: number, blocks: number): TestLevel {
  const comparisons = Math.max(1, comparedArms * classes);
  if (comparedArms < 2 || blocks < POOL_FLOOR) return { alpha: FAMILY_ALPHA / comparisons, power: POWER };
  const df = (blocks - 1) * comparedArms;
  const critical = dunnettCritical(FAMILY_ALPHA / classes, comparedArms, df);
  return { alpha: tTwoSided(critical, df), power: POWER + DOUBT_COST, dfPerBlock: comparedArms };
}
