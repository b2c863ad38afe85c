// Owns what stands between a checked protocol and a session: the plan with its expected time, the run folder, the ids of every prompt.

import { randomBytes } from 'node:crypto';
import { UserError } from '../core/errors.ts';
import type { Plan, PlannedPrompt } from '../core/records/plan.ts';
import { type Clock, utcOf } from '../machine/clock.ts';
import { sha256 } from '../results/journal-line.ts';
import { createRunFolder, type RunFolder } from '../results/run-folder.ts';
import type { CompleteProtocol } from '../schema/load.ts';
import type { PromptIds } from './context.ts';
import { expectedFromHistory, expectedFromSize } from './expected.ts';
import { makePlan } from './plan.ts';
import type { Subject, Subjects } from './subjects.ts';

export interface PrepareOptions {
  readonly complete: CompleteProtocol;
  /** The protocol file as it was read: its hash tells later runs of the very same protocol. */
  readonly protocolText: string;
  readonly subjects: Subjects;
  /** What a background that is an engine runs. */
  readonly backgroundSubject?: Subject | undefined;
  readonly results: string;
  readonly rota: string;
  readonly clock: Clock;
  /** Absent or null: the spread is assumed. */
  readonly measuredSpread?: Plan['assumedSpread'] | null;
  readonly equalArms?: boolean;
}

export interface Prepared {
  readonly plan: Plan;
  /** Where the expected minutes are from, in words; `null` when nothing can be said. */
  readonly expectedSource: string | null;
}

export function preparePlan(options: PrepareOptions): Prepared {
  const { complete, subjects } = options;
  const { protocol } = complete;
  const protocolSha256 = sha256(options.protocolText);
  const expected =
    expectedFromHistory(options.results, { protocol: protocol.name, protocolSha256 }) ??
    expectedFromSize(subjects[protocol.baseline]?.model ?? '', protocol);
  const plan = makePlan({
    complete,
    protocolSha256,
    subjects,
    backgroundSubject: options.backgroundSubject,
    rota: options.rota,
    createdUtc: utcOf(options.clock),
    minutesPerRun: expected?.minutes ?? null,
    measuredSpread: options.measuredSpread ?? null,
    equalArms: options.equalArms === true,
  });
  return { plan, expectedSource: expected?.source ?? null };
}

export function newRunFolder(results: string, plan: Plan): RunFolder {
  return createRunFolder(results, plan, randomBytes(3).toString('hex'));
}

/** What a session needs of a tokenizer. */
export interface PromptTokenizer {
  encode(text: string): number[];
  readonly bosId: number | null;
}

/** Every prompt is made into ids before the first engine starts: nothing is left to do beside a window. */
export async function encodePrompts(
  plan: Plan,
  openTokenizer: (model: string) => Promise<PromptTokenizer>,
): Promise<PromptIds> {
  const byModel = new Map<string, Map<string, readonly number[]>>();
  for (const model of new Set([
    ...plan.arms.map((arm) => arm.model),
    ...(plan.background?.serves === undefined ? [] : [plan.background.serves.model]),
  ])) {
    const tokenizer = await openTokenizer(model);
    const ids = new Map<string, readonly number[]>();
    for (const prompt of plan.workloads.flatMap((each) => [
      ...each.warmupPrompts,
      ...each.promptsByBlock.flat(),
    ])) {
      const encoded = tokenizer.encode(prompt.text);
      if (encoded.length === 0)
        throw new UserError(`prompt ${prompt.id} has no tokens for this model`, { where: model });
      ids.set(prompt.text, tokenizer.bosId === null ? encoded : [tokenizer.bosId, ...encoded]);
    }
    byModel.set(model, ids);
  }
  return (model: string, prompt: PlannedPrompt) => {
    const ids = byModel.get(model)?.get(prompt.text);
    if (ids === undefined) throw new Error(`prompt ${prompt.id} was not encoded for ${model}`);
    return ids;
  };
}
