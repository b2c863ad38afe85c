// What a verdict is made from: the good runs by arm and class, the noise of the baseline, what the machine could do and what it did beside.

import { maxKnown } from '../known.ts';
import type { JournalEvent } from '../records/journal.ts';
import type { Plan } from '../records/plan.ts';
import type { Verdict } from '../records/verdict.ts';
import { type ClassRun, classRun } from './aggregate.ts';
import type { Beside } from './beside-baseline.ts';
import { type MachineFindings, machineFindings } from './machine.ts';
import type { Attempt, Replay } from './replay.ts';
import { noiseOf } from './self-check.ts';

export interface VerdictInput {
  readonly plan: Plan;
  readonly events: readonly JournalEvent[];
  /** The folder's name, not its path: a run that was moved keeps its verdict. */
  readonly runFolder: string;
  readonly journalSha256: string;
  /** sha256 of a text, in hexadecimal. */
  readonly sha256: (text: string) => string;
}

export interface Context extends Beside {
  readonly input: VerdictInput;
  readonly all: readonly ClassRun[];
  readonly bandwidths: Verdict['ceilings'];
  readonly device: string | null;
  readonly subject?: string;
  readonly machine: MachineFindings;
}

function classRuns(plan: Plan, ok: readonly Attempt[]): ClassRun[] {
  return plan.workloads.flatMap(({ class: className }) =>
    ok.map((attempt) => classRun(plan, attempt, className)),
  );
}

/** The best that was seen: a ceiling that is too low would make impossible rates look possible. */
function bandwidthsOf(ceilings: Replay['ceilings']): Verdict['ceilings'] {
  const copy = maxKnown(ceilings.map((each) => each.deviceCopyBytesPerSec ?? null));
  const toDevice = maxKnown(ceilings.map((each) => each.toDeviceBytesPerSec ?? null));
  return {
    memoryReadBytesPerSec: maxKnown(ceilings.map((each) => each.memoryReadBytesPerSec)),
    fileReadBytesPerSec: maxKnown(ceilings.map((each) => each.fileReadBytesPerSec)),
    ...(copy === null ? {} : { deviceCopyBytesPerSec: copy }),
    ...(toDevice === null ? {} : { toDeviceBytesPerSec: toDevice }),
  };
}

export function contextOf(
  input: VerdictInput,
  ok: readonly Attempt[],
  record: Replay,
  leftOut: ReadonlyMap<string, unknown>,
): Context {
  const { plan } = input;
  const { gaps, ceilings } = record;
  const all = classRuns(plan, ok).sort((a, b) => a.attempt.planned.block - b.attempt.planned.block);
  const devices = [...new Set(ok.flatMap(({ ready }) => (ready === null ? [] : [ready.device])))].sort();
  const subjects = [...new Set(ok.flatMap(({ ready }) => ready?.subject ?? []))].sort();
  const runsOf: Beside['runsOf'] = (arm, className) =>
    all.filter((run) => run.attempt.planned.arm === arm && run.className === className);
  return {
    input,
    plan,
    all,
    runsOf,
    bandwidths: bandwidthsOf(ceilings),
    device: devices.length === 0 ? null : devices.join(' + '),
    ...(subjects.length === 0 ? {} : { subject: subjects.join(' + ') }),
    noise: noiseOf(
      plan.baseline,
      ok.filter((attempt) => attempt.planned.arm === plan.baseline),
      gaps,
    ),
    gaps,
    machine: machineFindings(plan, record, runsOf),
    // An arm that went on after the screening is shown by what may be claimed of it; one that did not, by what there is.
    claimFrom: (arm) => (leftOut.has(arm) ? 0 : (plan.sweep?.screen ?? 0)) + 1,
  };
}
