// When others disturb a window: what trips the guard. It sees the load of others and nothing else: not which arm ran, not how fast it
// was. A rule that knew either would choose its results.

import type { WindowLoad } from '../records/journal.ts';
import type { Guards } from '../records/plan.ts';

/**
 * A block that others spoilt is measured again whole, so often at most; then it is kept and its load is named: a machine that is never
 * quiet must not loop for ever.
 */
export const MAX_RERUNS = 3;

export function rerunsOf({ onTrip, maxReruns = MAX_RERUNS }: Guards): number {
  return onTrip === 'rerun' ? maxReruns : 0;
}

export type GuardedLoad = Pick<WindowLoad, 'foreignCpuShare' | 'gpus'>;

export interface Trip {
  /** The words of the flag that the window carries. */
  readonly flag: string;
  /** What was seen, in a sentence. */
  readonly text: string;
}

/** Empty when nothing tripped. Load that could not be read trips nothing: it is told apart. */
export function trips(load: GuardedLoad, guards: Guards): Trip[] {
  const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
  const cpu = load.foreignCpuShare;
  const gpu = load.gpus?.find(
    (each) => (each.foreignMemoryBytes ?? 0) > 0 && (each.utilizationPercent ?? 0) > guards.foreignGpuPercent,
  );
  return [
    ...(cpu !== null && cpu > guards.foreignCpuShare
      ? [
          {
            flag: 'foreign CPU load',
            text: `other programs used ${percent(cpu)} of all cores (limit ${percent(guards.foreignCpuShare)})`,
          },
        ]
      : []),
    ...(gpu === undefined
      ? []
      : [
          {
            flag: 'foreign processes on a busy GPU',
            text: `other programs were on GPU ${gpu.uuid}, which was ${gpu.utilizationPercent} % busy (limit ${guards.foreignGpuPercent} %)`,
          },
        ]),
  ];
}
