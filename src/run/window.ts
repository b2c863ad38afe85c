// Owns one window: one request to the engine with the machine watched around it, and its line in the journal.

import { EngineError } from '../core/errors.ts';
import type { EngineReady, GenerateRequest } from '../core/records/answer.ts';
import type { JournalEvent, WindowKind } from '../core/records/journal.ts';
import type { PlannedArm, PlannedPrompt } from '../core/records/plan.ts';
import type { EngineSession } from '../engines/session.ts';
import { readPair, steppedBetween, utcOf } from '../machine/clock.ts';
import { sha256 } from '../results/journal-line.ts';
import type { SessionContext } from './context.ts';
import { windowFlags } from './flags.ts';
import type { ChangedWeights } from './known-weights.ts';
import { refuseLedgerFlood } from './ledger.ts';

export interface RunningEngine {
  readonly run: string;
  readonly arm: PlannedArm;
  readonly session: EngineSession;
  readonly ready: EngineReady;
  readonly changedWeights: ChangedWeights;
  /** Where it writes its ledger. */
  readonly ledger: string | null;
}

export type WindowEvent = Extract<JournalEvent, { type: 'window' }>;

export interface WindowTask {
  readonly kind: WindowKind;
  readonly class: string;
  readonly prompt: PlannedPrompt;
}

/** The same numbers whatever the machine: little-endian 32-bit words. */
export function idsSha256(ids: readonly number[] | null): string | null {
  if (ids === null) return null;
  const bytes = Buffer.alloc(ids.length * 4);
  for (const [index, id] of ids.entries()) bytes.writeUInt32LE(id >>> 0, index * 4);
  return sha256(bytes);
}

export function tokPerSec(event: Pick<WindowEvent, 'result'>): number | null {
  const { tokens, decodeMs } = event.result;
  return decodeMs === null || decodeMs <= 0 || tokens < 2 ? null : (1000 * (tokens - 1)) / decodeMs;
}

/** More log than this and the next thing to fail is the disk. */
const MAX_LOG_BYTES = 1024 ** 3;

function refuseFlood(session: EngineSession): void {
  if (session.logBytes() <= MAX_LOG_BYTES) return;
  throw new EngineError('its log grew beyond 1 GiB', { phase: 'generate' });
}

function requestFor(context: SessionContext, engine: RunningEngine, task: WindowTask): GenerateRequest {
  const workload = context.plan.workloads.find((each) => each.class === task.class);
  if (workload === undefined) throw new Error(`the plan has no workload ${task.class}`);
  const { temperature, topP, seed } = engine.arm.sampling ?? context.plan.sampling;
  const { arbitration } = context.plan;
  // Speed is compared at equal length; what an engine says, at the length that it chooses.
  const length =
    task.kind === 'arbitrate' && arbitration !== undefined
      ? { maxNew: arbitration.maxNew, ignoreEos: false }
      : { maxNew: workload.maxNew, ignoreEos: workload.ignoreEos };
  return {
    prompt: context.promptIds(engine.arm.model, task.prompt),
    ...length,
    temperature,
    topP,
    seed,
    stop: [],
  };
}

/** Of what is never measured and never compared, the digest tells the ids; nothing is derived from the rest of the answer. */
function recorded(event: WindowEvent): WindowEvent {
  if (event.kind === 'measure' || event.kind === 'arbitrate') return event;
  return { ...event, result: { ...event.result, ids: null, text: null, passMs: null, raw: null } };
}

/**
 * Between opening and closing nothing of Rota runs but the sampler: no file is written, nothing is printed, and the request's
 * time limit only ever fires on a failure.
 */
export async function runWindow(
  context: SessionContext,
  engine: RunningEngine,
  task: WindowTask,
): Promise<WindowEvent> {
  const { clock, telemetry, journal } = context;
  const request = requestFor(context, engine, task);
  const timeoutMs = context.requestTimeoutMs(request.prompt.length, request.maxNew);
  const strayBefore = engine.session.stray.count;
  const window = telemetry.openWindow({
    run: engine.run,
    window: `${task.kind} ${task.class} ${task.prompt.id}`,
  });
  const start = readPair(clock);
  let end = start;
  let load: ReturnType<typeof window.close> | null = null;
  try {
    const answer = await engine.session.generate(request, { timeoutMs, signal: context.signal });
    end = readPair(clock);
    load = window.close();
    const wallMs = end.monotonicMs - start.monotonicMs;
    const event: WindowEvent = {
      type: 'window',
      utc: utcOf(clock),
      run: engine.run,
      kind: task.kind,
      class: task.class,
      prompt: task.prompt.id,
      startedMs: start.monotonicMs - context.startedMs,
      wallMs,
      result: answer.result,
      idsSha256: idsSha256(answer.result.ids),
      load,
      flags: windowFlags({
        ...engine,
        request,
        answer,
        wallMs,
        clockStepped: steppedBetween(start, end),
        strayLines: engine.session.stray.count - strayBefore,
        load,
        guards: context.plan.guards,
      }),
    };
    journal.append(recorded(event));
    refuseFlood(engine.session);
    refuseLedgerFlood(engine.ledger);
    return event;
  } finally {
    if (load === null) window.close();
    telemetry.flush();
  }
}
