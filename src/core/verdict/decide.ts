// The decision after a block, from plan and journal: what the runner asks and a recomputation can check. Composes, judges nothing itself.

import type { Decision, JournalEvent } from '../records/journal.ts';
import type { Plan } from '../records/plan.ts';
import { classRun } from './aggregate.ts';
import { decideAfter, leftOutArms } from './looks.ts';
import { decisionsOf, goodAttempts, replay } from './replay.ts';
import { rateTables } from './speed-section.ts';

/** Null where the plan has nothing to decide after this block, or it was decided already, or all is over. */
export function decisionAfter(plan: Plan, events: readonly JournalEvent[], block: number): Decision | null {
  if (plan.stop === undefined && plan.sweep === undefined) return null;
  const decisions = decisionsOf(events);
  if (decisions.some(({ afterBlock, stop }) => stop || afterBlock === block)) return null;
  const ok = goodAttempts(replay(plan, events));
  const runsOf = (arm: string, name: string) =>
    ok.filter(({ planned }) => planned.arm === arm).map((attempt) => classRun(plan, attempt, name));
  const screen = plan.sweep?.screen ?? 0;
  const leftOut = leftOutArms(decisions);
  const tables = rateTables(plan, runsOf, {
    from: block <= screen ? 1 : screen + 1,
    to: block,
    isClaimed: (arm) => !leftOut.has(arm),
  });
  return decideAfter(plan, block, tables);
}
