// Owns the guess how long the runs that are left take, re-runs that others make necessary included. Tells nobody.

import type { Plan, PlannedRun } from '../core/records/plan.ts';
import { mean } from '../core/stats/sums.ts';
import type { Clock } from '../machine/clock.ts';

export interface TimeLeft {
  /** Runs that must still be measured. */
  readonly runs: number;
  begin(run: PlannedRun): void;
  end(run: PlannedRun, isOk: boolean): void;
  /** Others spoilt their block, what was done of it included: they are run again. */
  again(runs: readonly PlannedRun[]): void;
  giveUp(arm: string): void;
  /** Null: nothing is known yet. */
  seconds(): number | null;
}

const meanOf = (values: readonly number[]): number | null => (values.length === 0 ? null : mean(values));

/**
 * Runs of one arm take alike; an arm that has not run yet takes as long as the others, or as the plan expects. A block to come loses as
 * much to tries that others spoil as those so far lost on average.
 */
export function createTimeLeft(plan: Plan, done: ReadonlySet<string>, clock: Clock): TimeLeft {
  const left = new Map(plan.runs.filter((run) => !done.has(run.id)).map((run) => [run.id, run]));
  const byArm = new Map<string, number[]>();
  const givenUp = new Set<string>();
  const begun = new Set<number>();
  /** Spent on each run since its block was last begun anew; and in all on tries that were spoilt. */
  const spent = new Map<string, number>();
  let lostSeconds = 0;
  let startedMs: number | null = null;

  const sinceStart = (): number => (startedMs === null ? 0 : (clock.monotonicMs() - startedMs) / 1000);
  const planned = plan.expectedMinutes === null ? null : (plan.expectedMinutes * 60) / plan.runs.length;

  return {
    get runs() {
      return left.size;
    },
    begin(run) {
      begun.add(run.block);
      startedMs = clock.monotonicMs();
    },
    end(run, isOk) {
      const took = sinceStart();
      startedMs = null;
      spent.set(run.id, (spent.get(run.id) ?? 0) + took);
      if (!isOk) return;
      byArm.set(run.arm, [...(byArm.get(run.arm) ?? []), took]);
      left.delete(run.id);
    },
    again(runs) {
      for (const run of runs) {
        left.set(run.id, run);
        lostSeconds += spent.get(run.id) ?? 0;
        spent.delete(run.id);
      }
    },
    giveUp(arm) {
      givenUp.add(arm);
    },
    seconds() {
      const todo = [...left.values()].filter(({ arm }) => !givenUp.has(arm));
      const overall = meanOf([...byArm.values()].flat()) ?? planned;
      let sum = 0;
      for (const { arm } of todo) {
        const each = meanOf(byArm.get(arm) ?? []) ?? overall;
        if (each === null) return null;
        sum += each;
      }
      const toCome = new Set(todo.map(({ block }) => block).filter((block) => !begun.has(block)));
      const lost = begun.size === 0 ? 0 : (lostSeconds / begun.size) * toCome.size;
      return Math.max(0, sum + lost - sinceStart());
    },
  };
}
