// Owns what a run tells its watchers. Told between windows only; prints nothing.

import { armLabel } from '../core/records/arm-label.ts';
import type { Plan, PlannedRun } from '../core/records/plan.ts';
import type { Clock } from '../machine/clock.ts';
import { createTimeLeft } from './time-left.ts';

export type Phase = 'ceiling' | 'background' | 'launch' | 'warm-up' | 'measure' | 'arbitrate' | 'stop';

export interface Progress {
  readonly phase: Phase;
  readonly block: number;
  readonly blocks: number;
  readonly position: number;
  readonly positions: number;
  readonly arm: string;
  /** What may make this arm say something else than the others; empty for most. */
  readonly label: string;
  readonly attempt: number;
  readonly class: string | null;
  /** Of the window that has just ended. */
  readonly tokPerSec: number | null;
  readonly runsDone: number;
  readonly runsPlanned: number;
  readonly etaSeconds: number | null;
  /** Something a watcher should know now: a run that failed, an arm that is given up. */
  readonly note: string | null;
}

export type OnProgress = (progress: Progress) => void;

export interface ProgressMeter {
  begin(run: PlannedRun, attempt: number): void;
  tell(phase: Phase, more?: Partial<Pick<Progress, 'class' | 'tokPerSec' | 'note'>>): void;
  end(run: PlannedRun, isOk: boolean): void;
  /** Others spoilt their block, what was done of it included: they are run again. */
  again(runs: readonly PlannedRun[]): void;
  /** Runs of the arm that are left will not be started: they take no time. */
  giveUp(arm: string): void;
}

export function createProgressMeter(
  plan: Plan,
  done: ReadonlySet<string>,
  clock: Clock,
  onProgress: OnProgress,
): ProgressMeter {
  const left = createTimeLeft(plan, done, clock);
  const positions = plan.arms.length;
  const labels = new Map(plan.arms.map((arm) => [arm.name, armLabel(arm)]));
  /** The run that is on, or was last. */
  let current: { readonly run: PlannedRun; readonly attempt: number } | null = null;
  return {
    begin(run, attempt) {
      left.begin(run);
      current = { run, attempt };
    },
    tell(phase, more = {}) {
      onProgress({
        phase,
        block: current?.run.block ?? 0,
        blocks: plan.blocks,
        position: current?.run.position ?? 0,
        positions,
        arm: current?.run.arm ?? '',
        label: labels.get(current?.run.arm ?? '') ?? '',
        attempt: current?.attempt ?? 0,
        class: null,
        tokPerSec: null,
        note: null,
        ...more,
        runsDone: plan.runs.length - left.runs,
        runsPlanned: plan.runs.length,
        etaSeconds: left.seconds(),
      });
    },
    end: left.end,
    again: left.again,
    giveUp: left.giveUp,
  };
}
