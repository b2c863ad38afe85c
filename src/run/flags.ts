// Owns what is worth a flag on a window: short phrases that a report counts. A flag never removes a number. Pure.

import { brokenIdentities } from '../core/counters/identities.ts';
import { trips } from '../core/design/guard.ts';
import type { EngineReady, GenerateRequest } from '../core/records/answer.ts';
import type { WindowLoad } from '../core/records/journal.ts';
import type { Guards, PlannedArm } from '../core/records/plan.ts';
import type { Answer } from '../engines/rota-dialect.ts';
import type { ChangedWeights } from './known-weights.ts';

export interface WindowFacts {
  readonly arm: Pick<PlannedArm, 'counting'>;
  readonly ready: EngineReady;
  readonly request: GenerateRequest;
  readonly answer: Answer;
  readonly wallMs: number;
  readonly clockStepped: boolean;
  /** Lines on stdout in this window that were no message. */
  readonly strayLines: number;
  readonly load: WindowLoad;
  readonly guards: Guards;
  readonly changedWeights: ChangedWeights;
}

/** An engine's clock may be read a little after ours; beyond this its times are not of this window. */
const CLOCK_SLACK_MS = 5;
const CLOCK_SLACK_SHARE = 0.01;

const OWN_RULE = { file: 'disjoint', unit: 'lookup' } as const;

function lengthFlags({ request, answer }: WindowFacts): string[] {
  const { tokens, finish } = answer.result;
  return [
    ...(tokens === 0 ? ['no token came'] : []),
    ...(tokens > 0 && request.ignoreEos && tokens !== request.maxNew
      ? ['not the length that was asked for']
      : []),
    ...(tokens > request.maxNew && !request.ignoreEos ? ['longer than was asked for'] : []),
    ...(finish === null ? ['no finish reason'] : []),
  ];
}

function weightFlags({ changedWeights }: WindowFacts): string[] {
  if (changedWeights === null) return [];
  const what = { model: 'other weights', drafter: 'another drafter' }[changedWeights];
  return [`${what} than in the runs before`];
}

function idFlags({ ready, answer }: WindowFacts): string[] {
  const { ids } = answer.result;
  if (ids === null) return ['no token ids'];
  const { vocab } = ready;
  return vocab !== null && ids.some((id) => id >= vocab) ? ['ids beyond the vocabulary'] : [];
}

function clockFlags({ answer, wallMs, clockStepped }: WindowFacts): string[] {
  const claimed = Math.max(
    (answer.result.decodeMs ?? 0) + (answer.result.ttftMs ?? 0),
    (answer.result.passMs ?? []).reduce((sum, ms) => sum + ms, 0),
  );
  return [
    ...(clockStepped ? ['the wall clock stepped'] : []),
    ...(claimed > wallMs * (1 + CLOCK_SLACK_SHARE) + CLOCK_SLACK_MS
      ? ['the engine claims more time than passed']
      : []),
  ];
}

/** It may be what the arm asks of the card: a flag, and no guard, so that nothing is left out for it. */
function throttleFlags({ gpus }: WindowLoad): string[] {
  const seen = new Set((gpus ?? []).flatMap(({ throttles = [] }) => throttles));
  return [...seen].sort().map((what) => `the GPU throttled (${what})`);
}

export function windowFlags(facts: WindowFacts): string[] {
  const { answer, ready, arm } = facts;
  const broken = brokenIdentities(answer.result, ready, arm.counting ?? OWN_RULE);
  return [
    ...lengthFlags(facts),
    ...idFlags(facts),
    ...(broken.length > 0 ? ['counters contradict themselves'] : []),
    ...(answer.refusedFields.length > 0 ? ['numbers that cannot be believed'] : []),
    ...weightFlags(facts),
    ...((answer.result.cachedPromptTokens ?? 0) > 0 ? ['the prompt was partly cached'] : []),
    ...(facts.strayLines > 0 ? ['unexpected output on stdout'] : []),
    ...clockFlags(facts),
    ...throttleFlags(facts.load),
    ...trips(facts.load, facts.guards).map(({ flag }) => flag),
  ];
}
