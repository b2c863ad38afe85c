// The weights that a record's engines have shown: another fingerprint under the same path is not the same model. Knows no engine.

import type { EngineReady } from '../core/records/answer.ts';
import type { JournalEvent } from '../core/records/journal.ts';
import type { Plan, PlannedArm } from '../core/records/plan.ts';

/** What is not as it was in the runs before: what the model says, or only what is drafted for it. */
export type ChangedWeights = 'model' | 'drafter' | null;

type Shown = Pick<EngineReady, 'fingerprint' | 'draftFingerprint'>;

export interface KnownWeights {
  /** The first that an arm shows is what all later runs must show. */
  meet(arm: Pick<PlannedArm, 'name' | 'engine' | 'model'>, ready: Shown): ChangedWeights;
}

export function createKnownWeights(): KnownWeights {
  const first = new Map<string, string>();
  const isOther = (key: string, fingerprint: string | null): boolean => {
    if (fingerprint === null) return false;
    const known = first.get(key) ?? fingerprint;
    first.set(key, known);
    return known !== fingerprint;
  };
  return {
    meet: (arm, ready) => {
      // Every engine has its own way of telling weights apart; an arm may draft from a sidecar of its own, or not at all.
      const model = `${arm.engine} ${arm.model}`;
      const isOtherModel = isOther(model, ready.fingerprint);
      const isOtherDrafter = isOther(`${model} ${arm.name}`, ready.draftFingerprint ?? null);
      if (isOtherModel) return 'model';
      return isOtherDrafter ? 'drafter' : null;
    },
  };
}

/** Those that earlier sessions of this record have seen. */
export function weightsOf(plan: Plan, events: readonly JournalEvent[]): KnownWeights {
  const known = createKnownWeights();
  for (const event of events) {
    if (event.type !== 'ready') continue;
    const name = plan.runs.find((run) => run.id === event.run)?.arm;
    const arm = plan.arms.find((each) => each.name === name);
    if (arm !== undefined) known.meet(arm, event.ready);
  }
  return known;
}
