// Owns the time before measuring: the engine is used until it is steady, then its caches are put where every run of the arm has them.

import { judgeWarmup, type WarmupWindow } from '../core/design/warmup.ts';
import type { PlannedPrompt } from '../core/records/plan.ts';
import { utcOf } from '../machine/clock.ts';
import { classOrder } from './class-order.ts';
import type { SessionContext } from './context.ts';
import { type RunningEngine, runWindow, tokPerSec, type WindowEvent, type WindowTask } from './window.ts';

/** Class by class in turn, so that no class is warmed up last and warmest. */
function warmupTask(context: SessionContext, classes: readonly string[], index: number): WindowTask {
  const name = classes[index % classes.length] ?? '';
  const prompts = context.plan.workloads.find((each) => each.class === name)?.warmupPrompts ?? [];
  const prompt = prompts[Math.floor(index / classes.length) % prompts.length];
  if (prompt === undefined) throw new Error(`the plan has no warm-up prompt of class ${name}`);
  return { kind: 'warmup', class: name, prompt };
}

function toWarmupWindow(event: WindowEvent): WarmupWindow {
  const { tokens, counters } = event.result;
  return {
    class: event.class,
    tokens,
    tokPerSec: tokPerSec(event),
    hits: counters.bySource.hit,
    lookups: counters.lookups,
  };
}

function firstWarmupPrompt(context: SessionContext, name: string): PlannedPrompt {
  return warmupTask(context, [name], 0).prompt;
}

async function warmUntilSteady(
  context: SessionContext,
  engine: RunningEngine,
  classes: readonly string[],
): Promise<{ windows: WarmupWindow[]; seconds: number; steady: boolean; reason: string }> {
  const { clock, plan, progress } = context;
  const windows: WarmupWindow[] = [];
  const begin = clock.monotonicMs();
  for (;;) {
    const seconds = (clock.monotonicMs() - begin) / 1000;
    const verdict = judgeWarmup(plan.warmup, classes, windows, seconds);
    if (verdict.state !== 'continue') {
      return { windows, seconds, steady: verdict.state === 'steady', reason: verdict.reason };
    }
    const event = await runWindow(context, engine, warmupTask(context, classes, windows.length));
    windows.push(toWarmupWindow(event));
    progress.tell('warm-up', { class: event.class, tokPerSec: tokPerSec(event) });
  }
}

/**
 * How long an engine takes to become steady depends on the noise of the day, and so would what its expert caches hold when
 * measuring starts: two runs of one arm would begin with other hits and misses. So the caches are put back to where they
 * were at ready (memory, clocks and compiled kernels stay warm), and one fixed prompt of each class fills them: the same
 * in every run of the block. An engine without such a request keeps what the warm-up left, and the record says so.
 */
export async function warmUp(context: SessionContext, engine: RunningEngine, block: number): Promise<void> {
  const classes = classOrder(context.plan, block);
  const { windows, seconds, steady, reason } = await warmUntilSteady(context, engine, classes);
  const wasReset = await engine.session.reset(context.signal);
  context.journal.append({
    type: 'warmup_end',
    utc: utcOf(context.clock),
    run: engine.run,
    requests: windows.length,
    tokens: windows.reduce((sum, window) => sum + window.tokens, 0),
    seconds,
    steady,
    reason: wasReset ? reason : `${reason}; caches as the warm-up left them: the engine knows no reset`,
  });
  for (const name of classes) {
    await runWindow(context, engine, {
      kind: 'prime',
      class: name,
      prompt: firstWarmupPrompt(context, name),
    });
  }
  context.journal.sync();
}
