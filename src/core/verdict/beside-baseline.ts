// What an arm shows only beside the baseline: its output, the parts of its speed, knobs without a trace, what a change costs. Owns
// which runs stand beside each other.

import type { Plan, PlannedArm } from '../records/plan.ts';
import type { ArmClassVerdict } from '../records/verdict.ts';
import type { ClassRun } from './aggregate.ts';
import { deadKnobsOf } from './dead-knobs.ts';
import { judgeOutput, type OutputFinding } from './output.ts';
import type { BlockPair } from './pairs.ts';
import type { Replay } from './replay.ts';
import type { Noise } from './self-check.ts';
import type { SpeedFinding } from './speed.ts';
import { speedSplit } from './split.ts';

export interface Beside {
  readonly plan: Plan;
  /** Good runs by arm and class, in block order. */
  readonly runsOf: (arm: string, className: string) => readonly ClassRun[];
  readonly noise: Noise;
  readonly gaps: Replay['gaps'];
  /** The first block of an arm that counts for what is said of its speed. */
  readonly claimFrom: (arm: string) => number;
}

export function claimedRuns(
  { runsOf, claimFrom }: Beside,
  arm: string,
  className: string,
): readonly ClassRun[] {
  return runsOf(arm, className).filter((run) => run.attempt.planned.block >= claimFrom(arm));
}

/** Runs of one block: the baseline's and the arm's. */
function pairsOf({ plan, runsOf }: Beside, arm: PlannedArm, className: string): BlockPair[] {
  const own = runsOf(arm.name, className);
  return runsOf(plan.baseline, className).flatMap((base) => {
    const run = own.find((each) => each.attempt.planned.block === base.attempt.planned.block);
    return run === undefined ? [] : [{ base, arm: run }];
  });
}

export function outputOf(beside: Beside, arm: PlannedArm, className: string): OutputFinding {
  const { plan, noise, gaps } = beside;
  const { sampling, margin } = plan;
  const subject = { arm, baseline: baselineOf(plan) ?? arm, sampling, className, margin };
  return judgeOutput(subject, pairsOf(beside, arm, className), noise, gaps);
}

const baselineOf = (plan: Plan): PlannedArm | undefined =>
  plan.arms.find((each) => each.name === plan.baseline);

export function besideBaseline(
  beside: Beside,
  arm: PlannedArm,
  className: string,
  { output, speed }: { readonly output: OutputFinding; readonly speed: SpeedFinding },
): Pick<ArmClassVerdict, 'evidence' | 'split' | 'deadKnobs'> {
  const first = beside.claimFrom(arm.name);
  const claimed = pairsOf(beside, arm, className).filter(({ base }) => base.attempt.planned.block >= first);
  const split = speedSplit(claimed);
  const baseline = baselineOf(beside.plan);
  const isSeen = speed.speed === 'faster' || speed.speed === 'slower';
  const pairs = beside.plan.workloads.flatMap((each) => pairsOf(beside, arm, each.class));
  const dead = isSeen || baseline === undefined ? [] : deadKnobsOf(arm, baseline, pairs);
  return {
    ...(output.evidence === undefined ? {} : { evidence: output.evidence }),
    ...(split === null ? {} : { split }),
    ...(dead.length === 0 ? {} : { deadKnobs: dead }),
  };
}
