// What the machine did besides running the engines: the load of others, its own clock. Composes; decides nothing.

import type { Plan } from '../records/plan.ts';
import type { Verdict } from '../records/verdict.ts';
import { calibrationOf } from './calibration.ts';
import { foreignLoadOf } from './foreign-load.ts';
import type { Replay } from './replay.ts';

/** Each is absent where there is nothing to say of it. */
export type MachineFindings = Pick<Verdict, 'foreignLoad' | 'calibration'>;

export function machineFindings(plan: Plan, record: Replay): MachineFindings {
  const foreignLoad = foreignLoadOf(plan, record);
  const calibration = calibrationOf(plan, record);
  return {
    ...(foreignLoad === undefined ? {} : { foreignLoad }),
    ...(calibration === undefined ? {} : { calibration }),
  };
}
