// What the calibration loop says of the machine: how fast it was, whether it drifted, and whether what slowed it leans to one arm. Leaves
// out nothing: a run that heats the machine is no fault of the measurement but an effect of its arm.

import { median } from 'simple-statistics';
import type { CalibrationReading } from '../records/journal.ts';
import type { Plan } from '../records/plan.ts';
import type { Calibration, CalibrationPart, Lean } from '../records/verdict.ts';
import { holm } from '../stats/holm.ts';
import { pairedEstimate } from '../stats/paired.ts';
import { slopeOf } from '../stats/slope.ts';
import { tTwoSided } from '../stats/student.ts';
import { mean } from '../stats/sums.ts';
import { percent, pText } from './lines.ts';
import { type Attempt, goodAttempts, type Replay } from './replay.ts';
import { throttleLeans } from './throttling.ts';

type Part = 'arithmetic' | 'memory';

interface Around {
  readonly attempt: Attempt;
  readonly before: CalibrationReading;
  readonly after: CalibrationReading;
}

const msOf = (reading: CalibrationReading, part: Part): number =>
  part === 'arithmetic' ? reading.arithmeticMs : reading.memoryMs;

/** Undefined: no run has both loops around it. */
export function calibrationOf(plan: Plan, record: Replay): Calibration | undefined {
  const around = goodAttempts(record).flatMap((attempt): Around[] => {
    const { before, after } = attempt;
    return before === null || after === null ? [] : [{ attempt, before, after }];
  });
  if (around.length === 0) return undefined;
  return {
    runs: around.length,
    arithmetic: partOf(plan, around, 'arithmetic'),
    memory: partOf(plan, around, 'memory'),
    leans: [
      ...slowing(plan, around),
      ...throttleLeans(
        plan,
        around.map(({ attempt }) => attempt),
      ),
    ],
  };
}

/** In the order of the plan, which is that of time but for repeated runs. */
function partOf(plan: Plan, around: readonly Around[], part: Part): CalibrationPart {
  const values = around.flatMap(({ before, after }) => [msOf(before, part), msOf(after, part)]);
  // The loop before a run: the one after it also shows what its arm did.
  const points = around.map(({ attempt, before }) => ({
    // A background takes its part of the machine, which is no drift.
    group: plan.background?.blocks.includes(attempt.planned.block) ? 'beside' : 'alone',
    value: Math.log(msOf(before, part)),
  }));
  const slope = slopeOf(points);
  return {
    fastestMs: Math.min(...values),
    medianMs: median(values),
    drift: slope === null ? null : Math.expm1(slope.slope * (points.length - 1)),
    driftP:
      slope === null || slope.standardError === 0
        ? null
        : tTwoSided(slope.slope / slope.standardError, slope.df),
  };
}

/** Below this share nobody need care, however certain it is. */
const CARE = 0.01;
const LEAN_ALPHA = 0.05;

/** By how much longer the loop took after a run than before it, an arm against the others of its block; Holm over arms and parts. */
function slowing(plan: Plan, around: readonly Around[]): Lean[] {
  const parts: readonly Part[] = ['arithmetic', 'memory'];
  const tests = parts.flatMap((part) =>
    plan.arms.map(({ name }) => {
      const pairs = pairsOf(around, name, part);
      return { part, arm: name, pairs, paired: pairedEstimate(pairs.map(([own, others]) => own - others)) };
    }),
  );
  const steps = holm(
    tests.map(({ paired }) => paired?.p ?? 1),
    LEAN_ALPHA,
  );
  return tests.flatMap(({ part, arm, pairs, paired }, index): Lean[] => {
    const step = steps[index];
    if (paired === null || step === undefined || !step.rejected || paired.mean < CARE) return [];
    const own = Math.expm1(mean(pairs.map(([each]) => each)));
    const others = Math.expm1(mean(pairs.map(([, each]) => each)));
    const text = `the calibration loop's ${part} took ${signed(own)} after runs of ${arm} than before them, ${signed(others)} with the others (${pText(step.adjusted)}): an effect of ${arm}, for which nothing is left out`;
    return [{ arm, of: part, own, others, p: step.adjusted, text }];
  });
}

/** ln(after / before) of the arm's run and the mean of the others', block by block. */
function pairsOf(around: readonly Around[], arm: string, part: Part): [number, number][] {
  const change = ({ before, after }: Around): number => Math.log(msOf(after, part) / msOf(before, part));
  return around
    .filter(({ attempt }) => attempt.planned.arm === arm)
    .flatMap((own): [number, number][] => {
      const { block } = own.attempt.planned;
      const others = around.filter(
        ({ attempt }) => attempt.planned.block === block && attempt.planned.arm !== arm,
      );
      return others.length === 0 ? [] : [[change(own), mean(others.map(change))]];
    });
}

function signed(share: number): string {
  return `${percent(Math.abs(share))} ${share < 0 ? 'less' : 'longer'}`;
}

/** Drift beyond this, when it is more than chance, is worth a line. */
const DRIFT = 0.02;
const DRIFT_ALPHA = 0.01;

export function calibrationWarnings(found: Calibration | undefined): string[] {
  if (found === undefined) return [];
  const drifts = (['arithmetic', 'memory'] as const).flatMap((part) => {
    const { drift, driftP } = found[part];
    if (drift === null || driftP === null || Math.abs(drift) < DRIFT || driftP >= DRIFT_ALPHA) return [];
    return [
      `the machine itself drifted: the calibration loop's ${part} took ${signed(drift)} at the end than at the start (${pText(driftP)})`,
    ];
  });
  return [...drifts, ...found.leans.map(({ text }) => text)];
}

function change(share: number): string {
  const text = percent(Math.abs(share));
  return text === '0 %' ? text : `${share < 0 ? '−' : '+'}${text}`;
}

/** For whoever reads a verdict: the loop's numbers in a sentence. */
export function calibrationText({ arithmetic, memory }: Calibration): string {
  const part = (name: string, { medianMs, drift }: CalibrationPart): string =>
    `${name} ${medianMs.toPrecision(3)} ms${drift === null ? '' : ` (${change(drift)} from the first run to the last)`}`;
  return `calibration loop around each run: ${part('arithmetic', arithmetic)} · ${part('memory', memory)}`;
}
