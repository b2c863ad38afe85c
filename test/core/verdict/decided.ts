// A made-up session that decides on the way, as the runner does after each block.

import type { JournalEvent } from '../../../src/core/records/journal.ts';
import type { Plan } from '../../../src/core/records/plan.ts';
import { decisionAfter } from '../../../src/core/verdict/decide.ts';
import { runsLeftInPlan } from '../../../src/core/verdict/replay.ts';
import { makePlan, type RecordOptions, runEvents, sessionEvents, utc } from './record.ts';

/** A session that looks and screens as its plan says: what a decision made superfluous is not run. */
export function decidedRecord(options: RecordOptions = {}): { plan: Plan; events: JournalEvent[] } {
  const plan = makePlan(options);
  const events: JournalEvent[] = sessionEvents(options);
  for (let block = 1; block <= plan.blocks; block++) {
    const runs = runsLeftInPlan(plan, events).filter((run) => run.block === block);
    events.push(...runs.flatMap((run) => runEvents(plan, run, options)));
    const decision = decisionAfter(plan, events, block);
    if (decision !== null) events.push({ type: 'decision', utc, decision });
  }
  events.push({ type: 'session_end', utc });
  return { plan, events };
}
