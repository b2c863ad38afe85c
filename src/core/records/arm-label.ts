// What must stand beside an arm's name wherever it is named: what may make it say something else than the others. Words only.

import type { PlannedArm } from './plan.ts';

type Labelled = Pick<PlannedArm, 'lossyKnobs' | 'lossyInUse' | 'overrides'>;

export function lossyInUse(arm: Pick<PlannedArm, 'lossyKnobs' | 'lossyInUse'>): readonly string[] {
  return arm.lossyInUse ?? arm.lossyKnobs;
}

/** `[lossy: route-bias; model other.gguf]`, or nothing. */
export function armLabel(arm: Labelled): string {
  const lossy = lossyInUse(arm);
  const parts = [...(lossy.length === 0 ? [] : [`lossy: ${lossy.join(', ')}`]), ...arm.overrides];
  return parts.length === 0 ? '' : `[${parts.join('; ')}]`;
}
