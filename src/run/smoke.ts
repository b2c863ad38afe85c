// Owns the smoke test: every arm is started for a few tokens before an hour is spent on it. Leaves no record.

import path from 'node:path';
import { EngineError } from '../core/errors.ts';
import type { Plan, PlannedArm } from '../core/records/plan.ts';
import { startGuard } from '../engines/guard.ts';
import { type EngineSession, openSession, type SessionOptions } from '../engines/session.ts';
import { type Clock, systemClock, utcOf } from '../machine/clock.ts';
import { lockMachine } from '../machine/lock.ts';
import type { EngineDescriptor } from '../schema/descriptor.ts';
import { defaultRequestTimeoutMs, type PromptIds } from './context.ts';
import { type Interrupted, listenForInterrupts } from './interrupts.ts';
import { checkNeeds, inheritedNotices } from './preflight.ts';

const TOKENS = 16;

export interface SmokeResult {
  readonly arm: string;
  /** `null`: it works. */
  readonly problem: string | null;
  readonly logTail: readonly string[];
  readonly loadMs: number | null;
  readonly tokens: number;
}

export interface SmokeOptions {
  readonly plan: Plan;
  readonly descriptorOf: (engine: string) => EngineDescriptor;
  readonly promptIds: PromptIds;
  /** For the engines' logs; exists. */
  readonly logFolder: string;
  readonly command: string;
  readonly shareMachine: boolean;
  readonly onResult: (result: SmokeResult) => void;
  readonly onNotice?: (text: string) => void;
  readonly clock?: Clock;
  readonly lockFolder?: string;
}

async function tryArm(
  options: SmokeOptions,
  arm: PlannedArm,
  session: EngineSession,
  signal: AbortSignal,
): Promise<{ loadMs: number; tokens: number }> {
  const { plan } = options;
  const [workload] = plan.workloads;
  const prompt = workload?.warmupPrompts[0];
  if (prompt === undefined) throw new Error('a plan has at least one workload with a warm-up prompt');
  const { loadMs } = await session.ready(signal);
  const ids = options.promptIds(arm.model, prompt);
  const request = {
    prompt: ids,
    maxNew: TOKENS,
    ...(arm.sampling ?? plan.sampling),
    ignoreEos: true,
    stop: [],
  };
  const { result } = await session.generate(request, {
    timeoutMs: defaultRequestTimeoutMs(ids.length, TOKENS),
    signal,
  });
  if (result.tokens === 0) throw new EngineError('it answered without a token', { phase: 'generate' });
  return { loadMs, tokens: result.tokens };
}

async function smokeArm(
  options: SmokeOptions,
  arm: PlannedArm,
  how: Pick<SessionOptions, 'guard' | 'clock'> & { readonly signal: AbortSignal },
): Promise<SmokeResult> {
  try {
    await using session = await openSession({
      descriptor: options.descriptorOf(arm.engine),
      argv: arm.argv,
      env: arm.env,
      logFile: path.join(options.logFolder, `smoke.${arm.name}.log`),
      guard: how.guard,
      clock: how.clock,
    });
    return {
      arm: arm.name,
      problem: null,
      logTail: [],
      ...(await tryArm(options, arm, session, how.signal)),
    };
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return { arm: arm.name, problem: error.message, logTail: error.logTail, loadMs: null, tokens: 0 };
  }
}

/** Throws Interrupted on Ctrl-C, after the engine was stopped. */
export async function smoke(options: SmokeOptions): Promise<SmokeResult[]> {
  const clock = options.clock ?? systemClock;
  checkNeeds(options.plan, options.logFolder, options.descriptorOf);
  for (const line of inheritedNotices(options.plan, options.descriptorOf)) options.onNotice?.(line);
  const exitNow = (second: Interrupted): void => process.exit(second.exitCode);
  using interrupts = listenForInterrupts(exitNow);
  await using guard = await startGuard();
  using _lock = await lockMachine({
    clock,
    command: options.command,
    folder: options.logFolder,
    utc: utcOf(clock),
    guard: guard.id,
    share: options.shareMachine,
    signal: interrupts.signal,
    ...(options.lockFolder === undefined ? {} : { lockFolder: options.lockFolder }),
  });
  const results: SmokeResult[] = [];
  for (const arm of options.plan.arms) {
    const result = await smokeArm(options, arm, { guard, clock, signal: interrupts.signal });
    results.push(result);
    options.onResult(result);
  }
  return results;
}
