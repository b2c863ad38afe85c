// The order in which the runs that count were really started. Judges nothing.

import type { Plan } from '../records/plan.ts';
import type { Attempt } from './replay.ts';

/** Ids of the runs by the start of the attempt that counts. */
export function executedOrder(good: readonly Attempt[]): string[] {
  return [...good].sort((a, b) => a.started - b.started).map(({ planned }) => planned.id);
}

/** Blocks whose runs were not started in the planned order, so that their balance is not that of the plan. */
export function reorderedBlocks(plan: Plan, executed: readonly string[]): number[] {
  const done = new Set(executed);
  const planned = plan.runs.filter((run) => done.has(run.id));
  const place = new Map(executed.map((run, index) => [run, index]));
  const blocks = [...new Set(planned.map((run) => run.block))];
  return blocks.filter((block) => {
    const places = planned.filter((run) => run.block === block).map((run) => place.get(run.id) ?? 0);
    return places.some((each, index) => index > 0 && each < (places[index - 1] ?? 0));
  });
}
