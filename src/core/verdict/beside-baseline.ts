// What an arm shows only beside the baseline: its output, the parts of its speed, knobs without a trace, what a change costs. Owns
// which runs stand beside each other.

import type { Plan, PlannedArm } from '../records/plan.ts';
import type { ArmClassVerdict } from '../records/verdict.ts';
import type { ClassRun } from './aggregate.ts';
import { costWords } from './cost.ts';
import { deadKnobsOf } from './dead-knobs.ts';
import { judgeOutput, type OutputFinding } from './output.ts';
import type { BlockPair } from './pairs.ts';
import type { Replay } from './replay.ts';
import type { Noise } from './self-check.ts';
import type { SpeedFinding } from './speed.ts';
import { speedSplit } from './split.ts';

export interface Beside {
  readonly plan: Plan;
  readonly runsOf: (arm: string, className: string) => readonly ClassRun[];
  readonly noise: Noise;
  readonly gaps: Replay['gaps'];
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
  { output, speed }: { readonly output: OutputFinding; readonly speed: SpeedFinding | undefined },
): Pick<ArmClassVerdict, 'evidence' | 'split' | 'deadKnobs'> {
  if (speed === undefined) return {};
  const split = speedSplit(pairsOf(beside, arm, className));
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

/** A changed output is never a win: what it costs stands behind what it brings. */
export function costOf(beside: Beside, arm: PlannedArm, className: string, output: OutputFinding): string {
  return costWords(output, speedSplit(pairsOf(beside, arm, className)));
}
