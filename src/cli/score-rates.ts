// Measured rates to stand beside a score: those of a run, by arms that have the same settings. Owns what counts as the same.

import type { Plan } from '../core/records/plan.ts';
import type { MeasuredRate } from '../core/records/score.ts';
import type { Verdict } from '../core/records/verdict.ts';
import type { EngineDescriptor } from '../schema/descriptor.ts';
import { canonicalKnobs, type Knobs } from '../schema/knobs.ts';
import type { NamedKnobs } from './score-arms.ts';

export interface RateQuestion {
  readonly descriptor: EngineDescriptor;
  readonly model: string;
  readonly arms: readonly NamedKnobs[];
}

/** Arms of the run on the same engine and model, and with every knob at the same value, defaults filled in. */
export function ratesOf(
  run: { readonly plan: Plan; readonly verdict: Verdict },
  question: RateQuestion,
): MeasuredRate[] {
  const { descriptor } = question;
  const keyOf = (knobs: Knobs): string => JSON.stringify(canonicalKnobs(descriptor.knobs, knobs));
  const named = new Map(question.arms.map((arm) => [keyOf(arm.knobs), arm.name]));
  const found: MeasuredRate[] = [];
  for (const planned of run.plan.arms) {
    if (planned.engine !== descriptor.name || planned.model !== question.model) continue;
    const name = named.get(keyOf(planned.knobs));
    for (const row of run.verdict.arms.filter(({ arm }) => arm === planned.name)) {
      if (name !== undefined && row.tokPerSec !== null)
        found.push({ arm: name, class: row.class, tokPerSec: row.tokPerSec });
    }
  }
  return found;
}
