// Owns what a run tells its watchers, and how long is left. Told between windows only; prints nothing.

import { armLabel } from '../core/records/arm-label.ts';
import type { Plan, PlannedRun } from '../core/records/plan.ts';
import type { Clock } from '../machine/clock.ts';

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
  /** Done, but others spoilt it: they are run again. */
  again(runs: readonly PlannedRun[]): void;
  /** Runs of the arm that are left will not be started: they take no time. */
  giveUp(arm: string): void;
}

/** Runs of one arm take alike; an arm that has not run yet takes as long as the others, or as the plan expects. */
export function createProgressMeter(
  plan: Plan,
  done: ReadonlySet<string>,
  clock: Clock,
  onProgress: OnProgress,
): ProgressMeter {
  const left = new Map(plan.runs.filter((run) => !done.has(run.id)).map((run) => [run.id, run.arm]));
  const seconds = new Map<string, number[]>();
  const positions = plan.arms.length;
  const givenUp = new Set<string>();
  const labels = new Map(plan.arms.map((arm) => [arm.name, armLabel(arm)]));
  /** The run that is on, or was last. */
  let current: { run: PlannedRun; attempt: number; startedMs: number; isOn: boolean } | null = null;

  const mean = (values: readonly number[]): number | null =>
    values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;

  function etaSeconds(): number | null {
    const overall =
      mean([...seconds.values()].flat()) ??
      (plan.expectedMinutes === null ? null : (plan.expectedMinutes * 60) / plan.runs.length);
    let eta = 0;
    for (const arm of left.values()) {
      if (givenUp.has(arm)) continue;
      const each = mean(seconds.get(arm) ?? []) ?? overall;
      if (each === null) return null;
      eta += each;
    }
    const spent = current?.isOn ? (clock.monotonicMs() - current.startedMs) / 1000 : 0;
    return Math.max(0, eta - spent);
  }

  return {
    begin(run, attempt) {
      current = { run, attempt, startedMs: clock.monotonicMs(), isOn: true };
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
        runsDone: plan.runs.length - left.size,
        runsPlanned: plan.runs.length,
        etaSeconds: etaSeconds(),
      });
    },
    end(run, isOk) {
      if (current !== null && isOk) {
        const took = (clock.monotonicMs() - current.startedMs) / 1000;
        seconds.set(run.arm, [...(seconds.get(run.arm) ?? []), took]);
        left.delete(run.id);
      }
      if (current !== null) current.isOn = false;
    },
    again(runs) {
      for (const run of runs) left.set(run.id, run.arm);
    },
    giveUp(arm) {
      givenUp.add(arm);
    },
  };
}
