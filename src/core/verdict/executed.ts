// The order in which the runs that count were really started. Reads the journal, judges nothing.

import type { JournalEvent } from '../records/journal.ts';
import type { Plan } from '../records/plan.ts';

/** Ids of runs that ended well, by the start of the attempt that counts: the last good one of a try that was not spoilt. */
export function executedOrder(events: readonly JournalEvent[]): string[] {
  const started = new Map<string, number>();
  const counted = new Map<string, number>();
  const blocks = new Map<string, number>();
  for (const [index, event] of events.entries()) {
    if (event.type === 'run_start') {
      started.set(event.run, index);
      blocks.set(event.run, event.block);
    }
    if (event.type === 'block_spoilt')
      for (const [run, block] of blocks) if (block === event.block) counted.delete(run);
    const start = event.type === 'run_end' && event.status === 'ok' ? started.get(event.run) : undefined;
    if (start !== undefined && event.type === 'run_end') counted.set(event.run, start);
  }
  return [...counted].sort(([, a], [, b]) => a - b).map(([run]) => run);
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
