// A run that others disturbed and that the protocol does not want to keep. Thrown between windows, never inside one.

import type { PlannedRun } from '../core/records/plan.ts';
import { spoiltTries } from '../core/verdict/replay.ts';
import { utcOf } from '../machine/clock.ts';
import type { SessionContext } from './context.ts';
import type { WindowEvent } from './window.ts';

export class GuardTripped extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'GuardTripped';
  }
}

/** On file before the engine is stopped: whatever happens then, no run of this try counts. */
export function disturbed(
  context: SessionContext,
  run: PlannedRun,
  event: WindowEvent,
  reason: string,
): GuardTripped {
  const { journal, plan, clock } = context;
  if (plan.guards.onTrip === 'rerun') {
    journal.append({
      type: 'block_spoilt',
      utc: utcOf(clock),
      block: run.block,
      try: spoiltTries(journal.events, run.block) + 1,
      run: run.id,
      reason,
      foreignPrograms: event.load.foreignPrograms ?? [],
    });
    journal.sync();
  }
  return new GuardTripped(reason);
}
