// What identical arms say of the machine: noise floor, drift, the effect of the position, blocks needed. Reads rates, judges no arm.

import type { Certificate, ClassNoise } from '../records/certificate.ts';
import type { JournalEvent } from '../records/journal.ts';
import type { Plan } from '../records/plan.ts';
import { pairedEstimate } from '../stats/paired.ts';
import { blocksNeeded } from '../stats/power.ts';
import { slopeOf } from '../stats/slope.ts';
import { spreadBound } from '../stats/spread.ts';
import { tTwoSided } from '../stats/student.ts';
import { type ClassRun, classRun } from './aggregate.ts';
import { foreignLoadOf } from './foreign-load.ts';
import { goodAttempts, replay } from './replay.ts';

/** Effects of the table, as shares of the speed. */
const SHARES = [0.01, 0.02, 0.03, 0.05, 0.1];
const LEVEL = { alpha: 0.05, power: 0.8 };
/** Identical arms that differ at this level accuse the harness: over all classes together. */
const ALARM = 0.01;

/**
 * Null when a class has fewer than three blocks of both arms that nobody disturbed: their spread is not known. What others did to a block
 * is no noise of the machine.
 */
export function noiseFloor(
  plan: Plan,
  events: readonly JournalEvent[],
): Pick<Certificate, 'blocks' | 'disturbed' | 'classes' | 'alarm'> | null {
  const record = replay(plan, events);
  const disturbed = new Set(foreignLoadOf(plan, record)?.disturbed.map(({ block }) => block) ?? []);
  const ok = goodAttempts(record).filter(({ planned }) => !disturbed.has(planned.block));
  const classes = plan.workloads.map(({ class: name }) =>
    classNoise(
      plan,
      name,
      ok.map((attempt) => classRun(plan, attempt, name)),
    ),
  );
  const known = classes.filter((each) => each !== null);
  if (known.length < classes.length) return null;
  const worst = known.reduce((least, each) => (each.differenceP < least.differenceP ? each : least));
  const p = Math.min(1, worst.differenceP * known.length);
  return {
    blocks: plan.blocks - disturbed.size,
    disturbed: disturbed.size,
    classes: known,
    alarm:
      p < ALARM
        ? `identical arms differ in ${worst.class} (p = ${p.toPrecision(2)}): do not believe this harness here before the reason is found`
        : null,
  };
}

function classNoise(plan: Plan, name: string, runs: readonly ClassRun[]): ClassNoise | null {
  const pairs = Array.from({ length: plan.blocks }, (_, index) => {
    const own = runs.filter((run) => run.attempt.planned.block === index + 1);
    const logOf = (is: (run: ClassRun) => boolean): number | null => {
      const rate = own.find(is)?.tokPerSec ?? null;
      return rate === null || rate <= 0 ? null : Math.log(rate);
    };
    return {
      base: logOf((run) => run.attempt.planned.arm === plan.baseline),
      other: logOf((run) => run.attempt.planned.arm !== plan.baseline),
      baseIsFirst: own.some(
        ({ attempt }) => attempt.planned.arm === plan.baseline && attempt.planned.position === 1,
      ),
    };
  }).flatMap(({ base, other, baseIsFirst }) =>
    base === null || other === null ? [] : [{ base, other, baseIsFirst }],
  );
  const difference = pairedEstimate(pairs.map(({ base, other }) => other - base));
  const position = pairedEstimate(
    pairs.map(({ base, other, baseIsFirst }) => (baseIsFirst ? other - base : base - other)),
  );
  if (difference === null || position === null || difference.n < 3) return null;
  const spreadUpper = spreadBound(difference.sd, difference.n - 1, 0.05);
  const drift = slopeOf(pairs.map(({ base, other }) => ({ group: name, value: (base + other) / 2 })));
  return {
    class: name,
    spread: difference.sd,
    spreadUpper,
    differenceP: difference.p,
    driftPerBlock: drift?.slope ?? null,
    driftP:
      drift === null || drift.standardError === 0
        ? null
        : tTwoSided(drift.slope / drift.standardError, drift.df),
    positionEffect: position.mean,
    positionP: position.p,
    blocksNeeded: SHARES.map((share) => ({
      share,
      blocks: spreadUpper === 0 ? 2 : blocksNeeded(share, spreadUpper, LEVEL),
    })),
  };
}
