// Owns what is asked for the output's sake, after the measured windows of a run and never timed: answers that honour the end token,
// fixed texts to score, and what the baseline thinks of the place where another arm left it.

import type { ScoreEvent } from '../core/records/journal.ts';
import type { PlannedPrompt, PlannedWorkload } from '../core/records/plan.ts';
import { firstDifference } from '../core/verdict/divergence.ts';
import type { ScoredTokens, ScoreRequest } from '../engines/rota-dialect.ts';
import { RefusedError } from '../engines/stdio-client.ts';
import { utcOf } from '../machine/clock.ts';
import type { SessionContext } from './context.ts';
import { type RunningEngine, runWindow, type WindowEvent } from './window.ts';

/**
 * The same questions in the same order in every run, from the same state of the caches: so runs of the baseline also answer for each
 * other, which tells the engine's own noise. Prompts are those for warming up: what is judged here was not measured.
 */
export async function arbitrate(context: SessionContext, engine: RunningEngine): Promise<void> {
  const rule = context.plan.arbitration;
  if (rule === undefined || rule.perClass + rule.scoreTexts === 0) return;
  context.progress.tell('arbitrate');
  await engine.session.reset(context.signal);
  const answers: WindowEvent[] = [];
  for (const { class: name, warmupPrompts } of context.plan.workloads) {
    for (const prompt of lastOf(warmupPrompts, rule.perClass)) {
      answers.push(await runWindow(context, engine, { kind: 'arbitrate', class: name, prompt }));
    }
  }
  for (const workload of context.plan.workloads) {
    if (!(await scoreTexts(context, engine, workload, rule.scoreTexts))) break;
  }
  if (engine.arm.name === context.plan.baseline) await measureGaps(context, engine, answers);
  context.journal.sync();
}

/** The first ones prime the caches; the last are fresh for longest. */
const lastOf = (prompts: readonly PlannedPrompt[], count: number): readonly PlannedPrompt[] =>
  count === 0 ? [] : prompts.slice(-count);

/** False when the engine cannot score: it is not asked again. */
async function scoreTexts(
  context: SessionContext,
  engine: RunningEngine,
  workload: PlannedWorkload,
  count: number,
): Promise<boolean> {
  for (const prompt of workload.warmupPrompts.slice(0, count)) {
    const tokens = context.promptIds(engine.arm.model, prompt);
    if (tokens.length < 2) continue;
    const prefill = await ask(context, engine, { tokens });
    if (prefill === null) return false;
    // Engines route a prompt with more care than what they generate: only read as decode does it, a text tells what an arm says.
    const decode = await ask(context, engine, { tokens, decodeFrom: 1 });
    const { logprobs, top1 } = decode ?? prefill;
    const event: ScoreEvent = {
      type: 'score',
      utc: utcOf(context.clock),
      run: engine.run,
      class: workload.class,
      prompt: prompt.id,
      tokens: tokens.length,
      // A millionth of a nat is far below what any rule looks at.
      logprobs: logprobs.map((value) => Number(value.toFixed(6))),
      top1,
      logitsSha256: prefill.logitsSha256,
      rows: decode === null ? 'prompt' : 'decode',
    };
    context.journal.append(event);
  }
  return true;
}

/** Null when the engine knows no such request, or not this much of it. */
async function ask(
  context: SessionContext,
  engine: RunningEngine,
  request: ScoreRequest,
): Promise<ScoredTokens | null> {
  const { length } = request.tokens;
  const timeoutMs = context.requestTimeoutMs(length, length - (request.decodeFrom ?? length));
  try {
    return await engine.session.score(request, { timeoutMs, signal: context.signal });
  } catch (error) {
    if (error instanceof RefusedError) return null;
    throw error;
  }
}

/** Where an arm, or an earlier start of the baseline itself, went another way: greedily, each place once. */
async function measureGaps(
  context: SessionContext,
  engine: RunningEngine,
  answers: readonly WindowEvent[],
): Promise<void> {
  const { plan, journal } = context;
  if (plan.sampling.temperature > 0) return;
  for (const own of answers) {
    const prompt = promptOf(context, own);
    for (const other of othersOf(context, engine, own)) {
      const index = firstDifference(own.result.ids, other.window.result.ids);
      if (index === null || prompt === null) continue;
      const isKnown = journal.events.some(
        (event) =>
          event.type === 'gap' &&
          event.arm === other.arm &&
          event.class === own.class &&
          event.prompt === own.prompt &&
          event.index === index,
      );
      if (isKnown) continue;
      const before = [
        ...context.promptIds(engine.arm.model, prompt),
        ...(own.result.ids ?? []).slice(0, index),
      ];
      const [base, arm] = [own.result.ids?.[index], other.window.result.ids?.[index]];
      // One of them is the beginning of the other: there are no two tokens to ask about.
      if (base === undefined || arm === undefined) continue;
      const baseScore = await ask(context, engine, { tokens: [...before, base] });
      const armScore = await ask(context, engine, { tokens: [...before, arm] });
      const [baseLogprob, armLogprob] = [baseScore, armScore].map((score) => score?.logprobs.at(-1));
      if (baseLogprob === undefined || armLogprob === undefined) return;
      const where = { run: engine.run, arm: other.arm, class: own.class, prompt: own.prompt, index };
      journal.append({ type: 'gap', utc: utcOf(context.clock), ...where, baseLogprob, armLogprob });
    }
  }
}

function promptOf({ plan }: SessionContext, window: WindowEvent): PlannedPrompt | null {
  const workload = plan.workloads.find((each) => each.class === window.class);
  return workload?.warmupPrompts.find((prompt) => prompt.id === window.prompt) ?? null;
}

/** The newest earlier answer of every arm on the same weights to the same question. */
function othersOf(
  { plan, journal }: SessionContext,
  engine: RunningEngine,
  own: WindowEvent,
): { readonly arm: string; readonly window: WindowEvent }[] {
  const comparable = plan.arms.filter((arm) => arm.model === engine.arm.model && arm.sampling === undefined);
  return comparable.flatMap(({ name }) => {
    const runs = new Set(plan.runs.filter((run) => run.arm === name).map((run) => run.id));
    const window = journal.events.findLast(
      (event): event is WindowEvent =>
        event.type === 'window' &&
        event.kind === 'arbitrate' &&
        runs.has(event.run) &&
        event.run !== own.run &&
        event.class === own.class &&
        event.prompt === own.prompt,
    );
    return window === undefined ? [] : [{ arm: name, window }];
  });
}
