// What the machine did besides running the engines: the load of others and the one that was asked for, its own clock. Composes; decides nothing.

import type { Plan } from '../records/plan.ts';
import type { Verdict } from '../records/verdict.ts';
import type { ClassRun } from './aggregate.ts';
import { backgroundOf } from './background.ts';
import { calibrationOf } from './calibration.ts';
import { foreignLoadOf } from './foreign-load.ts';
import type { Replay } from './replay.ts';

/** Each is absent where there is nothing to say of it. */
export type MachineFindings = Pick<Verdict, 'foreignLoad' | 'calibration' | 'background'>;

export function machineFindings(
  plan: Plan,
  record: Replay,
  runsOf: (arm: string, className: string) => readonly ClassRun[],
): MachineFindings {
  const foreignLoad = foreignLoadOf(plan, record);
  const calibration = calibrationOf(plan, record);
  const background = backgroundOf(plan, runsOf);
  return {
    ...(background === undefined ? {} : { background }),
    ...(foreignLoad === undefined ? {} : { foreignLoad }),
    ...(calibration === undefined ? {} : { calibration }),
  };
}
