// Owns one run, start to finish: launch, ready, warm up, measure, stop, memory released. Whatever happens, the engine is gone afterwards.

import path from 'node:path';
import { trips } from '../core/design/guard.ts';
import { EngineError } from '../core/errors.ts';
import type { PlannedArm, PlannedRun } from '../core/records/plan.ts';
import { type EngineSession, openSession } from '../engines/session.ts';
import type { StopReport } from '../engines/stop.ts';
import { utcOf } from '../machine/clock.ts';
import { type MemoryState, readMemory, waitForRelease } from '../machine/memory.ts';
import { RecordError } from '../results/files.ts';
import { arbitrate } from './arbitrate.ts';
import { calibrateAround } from './calibrate-around.ts';
import { classOrder } from './class-order.ts';
import type { SessionContext } from './context.ts';
import { disturbed, GuardTripped } from './guard-tripped.ts';
import { Interrupted } from './interrupts.ts';
import { argvWithLedger, keepLedger, ledgerFile } from './ledger.ts';
import { logShapeSha256 } from './log-shape.ts';
import { warmUp } from './warm-up.ts';
import { type RunningEngine, runWindow, tokPerSec } from './window.ts';

export type RunOutcome =
  | { readonly status: 'ok' }
  | { readonly status: 'void'; readonly reason: string }
  /** Others disturbed it: void as well, but no fault of the engine. */
  | { readonly status: 'tripped'; readonly reason: string }
  | { readonly status: 'interrupted'; readonly interrupted: Interrupted };

/** Whatever else happens on the machine, no run waits longer than this for memory that others may have taken. */
const RELEASE_LIMIT_MS = 10_000;

function armOf(context: SessionContext, run: PlannedRun): PlannedArm {
  const arm = context.plan.arms.find((each) => each.name === run.arm);
  if (arm === undefined) throw new Error(`the plan has no arm ${run.arm}`);
  return arm;
}

function logFile(context: SessionContext, run: PlannedRun, attempt: number): string {
  return path.join(context.folder.logs, `${run.id}.${attempt}.log`);
}

/** One try at a planned run, and the command line that it is started with. */
interface Start {
  readonly run: PlannedRun;
  readonly attempt: number;
  readonly arm: PlannedArm;
  readonly argv: readonly string[];
  readonly ledger: string | null;
}

function startOf(context: SessionContext, run: PlannedRun, attempt: number): Start {
  const arm = armOf(context, run);
  const ledger = ledgerFile(context, arm, { run: run.id, attempt });
  return { run, attempt, arm, argv: argvWithLedger(arm, ledger), ledger };
}

async function launch(context: SessionContext, { run, attempt, arm, argv }: Start): Promise<EngineSession> {
  const session = await openSession({
    descriptor: context.descriptorOf(arm.engine),
    argv,
    env: arm.env,
    logFile: logFile(context, run, attempt),
    guard: context.guard,
    clock: context.clock,
  });
  context.running.session = session;
  context.telemetry.watch(session.pid);
  return session;
}

async function becomeReady(
  context: SessionContext,
  { run, arm, ledger }: Start,
  session: EngineSession,
): Promise<RunningEngine> {
  const { ready, loadMs } = await session.ready(context.signal);
  context.journal.append({ type: 'ready', utc: utcOf(context.clock), run: run.id, loadMs, ready });
  return { run: run.id, arm, session, ready, ledger, changedWeights: context.weights.meet(arm, ready) };
}

interface Measured {
  readonly run: PlannedRun;
  /** Whether a disturbed window ends the run; else it is kept with its flag. */
  readonly heedsGuard: boolean;
}

async function measure(
  context: SessionContext,
  { run, heedsGuard }: Measured,
  engine: RunningEngine,
): Promise<void> {
  for (const name of classOrder(context.plan, run.block)) {
    const workload = context.plan.workloads.find((each) => each.class === name);
    for (const prompt of workload?.promptsByBlock[run.block - 1] ?? []) {
      const event = await runWindow(context, engine, { kind: 'measure', class: name, prompt });
      context.journal.sync();
      const [trip] = heedsGuard ? trips(event.load, context.plan.guards) : [];
      if (trip !== undefined) throw disturbed(context, run, event, `${trip.text} in ${name} ${prompt.id}`);
      context.progress.tell('measure', { class: name, tokPerSec: tokPerSec(event) });
    }
  }
}

async function work(
  context: SessionContext,
  { start, measured }: { readonly start: Start; readonly measured: Measured },
  session: EngineSession,
): Promise<void> {
  context.progress.tell('launch');
  const engine = await becomeReady(context, start, session);
  await warmUp(context, engine, start.run.block);
  await measure(context, measured, engine);
  context.background.check();
  await arbitrate(context, engine);
  if (session.violation !== null) {
    throw new EngineError(`the engine broke the protocol: ${session.violation}`, { phase: 'protocol' });
  }
}

/** An error that belongs to the engine ends the run; a record that cannot go on ends the session, anything else is a bug and ends the program. */
function outcomeOf(error: unknown): RunOutcome {
  if (error instanceof Interrupted) return { status: 'interrupted', interrupted: error };
  if (error instanceof GuardTripped) return { status: 'tripped', reason: error.message };
  if (error instanceof RecordError) throw error;
  if (error instanceof EngineError) return { status: 'void', reason: error.message };
  throw error;
}

async function attemptWork(
  context: SessionContext,
  what: { readonly start: Start; readonly measured: Measured },
  session: EngineSession,
): Promise<RunOutcome> {
  try {
    await work(context, what, session);
    return { status: 'ok' };
  } catch (error) {
    return outcomeOf(error);
  }
}

/** A run whose engine does not go away is void: whatever runs next would share the machine with it. */
function withStop(outcome: RunOutcome, stop: StopReport): RunOutcome {
  if (stop.left.length === 0 || outcome.status === 'interrupted') return outcome;
  return { status: 'void', reason: `processes that cannot be ended are left: ${stop.left.join(', ')}` };
}

async function finish(
  context: SessionContext,
  { run, ledger: written }: Start,
  session: EngineSession,
  end: { readonly outcome: RunOutcome; readonly before: MemoryState },
): Promise<RunOutcome> {
  const { clock, gpus, journal, telemetry, progress } = context;
  const logTail = end.outcome.status === 'ok' ? [] : session.logTail();
  progress.tell('stop');
  const stop = await session.stop();
  telemetry.watch(null);
  context.running.session = null;
  const release = await waitForRelease(end.before, {
    clock,
    limitMs: RELEASE_LIMIT_MS,
    read: () => readMemory(gpus),
    signal: context.signal,
  });
  const outcome = withStop(end.outcome, stop);
  if (outcome.status === 'ok') calibrateAround(context, run, 'after');
  const ledger = keepLedger(context, run.id, written);
  journal.append({
    type: 'run_end',
    utc: utcOf(clock),
    run: run.id,
    status: outcome.status === 'ok' ? 'ok' : 'void',
    reason: reasonOf(outcome),
    ...(outcome.status === 'tripped' ? { tripped: outcome.reason } : {}),
    exit: stop.exit === null ? null : (stop.exit.signal ?? stop.exit.code),
    memoryReleased: release.released,
    releaseMs: release.released === null ? null : release.waitedMs,
    logTail,
    ...logShapeOf(outcome, session.logFile),
    ...(ledger === null ? {} : { ledger }),
  });
  journal.sync();
  return outcome;
}

/** Of a good run alone: an engine that failed said other things anyway. */
function logShapeOf({ status }: RunOutcome, file: string): { readonly logShapeSha256?: string } {
  const shape = status === 'ok' ? logShapeSha256(file) : null;
  return shape === null ? {} : { logShapeSha256: shape };
}

function reasonOf(outcome: RunOutcome): string | null {
  switch (outcome.status) {
    case 'ok':
      return null;
    case 'void':
      return outcome.reason;
    case 'tripped':
      return `the guard tripped: ${outcome.reason}`;
    case 'interrupted':
      return outcome.interrupted.message;
  }
}

function journalStart(context: SessionContext, start: Start, pid: number): void {
  const { attempt, argv } = start;
  const { env } = start.arm;
  const { id, block, position, arm } = start.run;
  const utc = utcOf(context.clock);
  context.journal.append({ type: 'run_start', utc, run: id, attempt, block, position, arm, argv, env, pid });
  context.journal.sync();
}

/** An engine that could not even be started leaves a record too. */
function journalNoStart(context: SessionContext, start: Start, error: unknown): RunOutcome {
  const outcome = outcomeOf(error);
  journalStart(context, start, 0);
  context.journal.append({
    type: 'run_end',
    utc: utcOf(context.clock),
    run: start.run.id,
    status: 'void',
    reason: error instanceof Error ? error.message : String(error),
    exit: null,
    memoryReleased: null,
    releaseMs: null,
    logTail: [],
  });
  context.journal.sync();
  return outcome;
}

export async function runOnce(
  context: SessionContext,
  measured: Measured,
  attempt: number,
): Promise<RunOutcome> {
  const { run } = measured;
  context.progress.begin(run, attempt);
  const start = startOf(context, run, attempt);
  const before = readMemory(context.gpus);
  let session: EngineSession;
  try {
    context.signal.throwIfAborted();
    calibrateAround(context, run, 'before');
    session = await launch(context, start);
  } catch (error) {
    if (error instanceof Interrupted) return { status: 'interrupted', interrupted: error };
    return journalNoStart(context, start, error);
  }
  let outcome: RunOutcome | null = null;
  try {
    journalStart(context, start, session.pid);
    outcome = await attemptWork(context, { start, measured }, session);
  } finally {
    // A bug must not leave an engine behind either.
    if (outcome === null) await session.stop();
  }
  outcome = await finish(context, start, session, { outcome, before });
  context.progress.end(run, outcome.status === 'ok');
  return outcome;
}
