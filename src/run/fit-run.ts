// Owns the way from a run folder to its pass-time models: the record is proven first, then its ledgers are read.

import { requestOf } from '../core/counters/raw-answer.ts';
import { EngineError, EXIT, InvalidRecordError, UserError } from '../core/errors.ts';
import type { Unit } from '../core/fit/pass-model.ts';
import { fitArms, type RunFit, type RunPasses } from '../core/fit/run-fit.ts';
import type { Plan } from '../core/records/plan.ts';
import { goodAttempts, measuredWindows, replay } from '../core/verdict/replay.ts';
import { readLedger } from '../results/ledger.ts';
import type { RunFolder } from '../results/run-folder.ts';
import { nameHint } from '../schema/nearest.ts';
import { type Derived, deriveRecord } from './verdict-file.ts';

export interface FitOptions {
  readonly unit: Unit;
  /** Only this arm, only passes of this class. */
  readonly arm?: string | undefined;
  readonly class?: string | undefined;
}

export function fitRun(folder: RunFolder, options: FitOptions): RunFit {
  const derived = deriveRecord(folder);
  const { plan, verdict } = derived;
  const arms = chosen(
    plan.arms.map(({ name }) => name),
    options.arm,
    'arm',
  );
  const classes = chosen(
    plan.workloads.map(({ class: name }) => name),
    options.class,
    'class',
  );
  if (verdict.exitCode === EXIT.invalid)
    throw new InvalidRecordError(`${folder.path}: ${verdict.warnings[0] ?? 'the record contradicts itself'}`);
  const runs = runPasses(folder, derived, classes).filter(({ arm }) => arms.includes(arm));
  if (runs.length === 0) throw new EngineError(withoutLedger(folder, plan), { phase: 'fit' });
  const { device, ceilings: bandwidths } = verdict;
  return {
    runFolder: folder.name,
    device,
    classes,
    arms: fitArms(runs, { arms, unit: options.unit, device, bandwidths }),
  };
}

function chosen(names: readonly string[], one: string | undefined, what: string): readonly string[] {
  if (one === undefined) return names;
  if (names.includes(one)) return [one];
  throw new UserError(`there is no ${what} "${one}" in this run`, { hint: nameHint(one, names) });
}

function withoutLedger({ path }: RunFolder, plan: Plan): string {
  const why = plan.arms.some(({ ledgerFlag }) => ledgerFlag !== undefined)
    ? 'no run that ended well wrote one'
    : 'it was measured by an engine without one, with `ledger: false`, or by an older rota';
  return `${path}: has no ledger to fit: ${why}`;
}

function runPasses(folder: RunFolder, { plan, events }: Derived, classes: readonly string[]): RunPasses[] {
  return goodAttempts(replay(plan, events)).flatMap((attempt): RunPasses[] => {
    const { planned, end } = attempt;
    const ledger = end?.ledger;
    if (ledger === undefined) return [];
    const requests = new Set(
      measuredWindows(attempt)
        .filter(({ class: name }) => classes.includes(name))
        .map(({ result }) => requestOf(result)),
    );
    const passes = readLedger(folder, ledger).filter(({ request }) => requests.has(request));
    return [{ run: planned.id, block: planned.block, arm: planned.arm, passes }];
  });
}
