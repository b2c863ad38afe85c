// Owns the calibration loop's place in a run and its line in the journal.

import type { PlannedRun } from '../core/records/plan.ts';
import { utcOf } from '../machine/clock.ts';
import type { SessionContext } from './context.ts';

/** When nothing of an engine runs yet, or any more. */
export function calibrateAround(
  { journal, clock, calibrate }: SessionContext,
  run: PlannedRun,
  when: 'before' | 'after',
): void {
  journal.append({ type: 'calibration', utc: utcOf(clock), run: run.id, when, ...calibrate() });
}
