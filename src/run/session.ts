// Owns a session: it takes the machine, runs a plan or what is left of one, and leaves a record and a verdict. Reads as the protocol does.

import { EXIT, type ExitCode } from '../core/errors.ts';
import type { Plan } from '../core/records/plan.ts';
import type { Verdict } from '../core/records/verdict.ts';
import { runsLeftInPlan } from '../core/verdict/replay.ts';
import { type Guard, startGuard } from '../engines/guard.ts';
import { type Calibrate, createCalibrator } from '../machine/calibration.ts';
import { readMachineCard } from '../machine/card.ts';
import { type Clock, systemClock, utcOf } from '../machine/clock.ts';
import { type GpuMonitor, startGpuMonitor } from '../machine/gpu-monitor.ts';
import { lockMachine } from '../machine/lock.ts';
import { startTelemetry } from '../machine/telemetry.ts';
import { type Journal, openJournal } from '../results/journal.ts';
import { readPlan } from '../results/read.ts';
import type { RunFolder } from '../results/run-folder.ts';
import type { EngineDescriptor } from '../schema/descriptor.ts';
import { createBackground } from './background.ts';
import { type BlocksOutcome, runBlocks, runsDone } from './blocks.ts';
import { measureCeiling, type Probe } from './ceilings.ts';
import { defaultRequestTimeoutMs, type PromptIds, type SessionContext } from './context.ts';
import { Interrupted, type Interrupts, listenForInterrupts } from './interrupts.ts';
import { weightsOf } from './known-weights.ts';
import { checkNeeds, foreignLoadNow, inheritedNotices } from './preflight.ts';
import { createProgressMeter, type OnProgress } from './progress.ts';
import { writeVerdict } from './verdict-file.ts';

export interface SessionOptions {
  readonly folder: RunFolder;
  readonly resumed: boolean;
  /** Version of Rota. */
  readonly rota: string;
  /** What the lock shows to others: the command as it was typed. */
  readonly command: string;
  readonly descriptorOf: (engine: string) => EngineDescriptor;
  readonly promptIds: PromptIds;
  readonly probe: Probe | null;
  readonly onProgress: OnProgress;
  /** Something a person should read before the first run. */
  readonly onNotice: (text: string) => void;
  readonly shareMachine: boolean;
  readonly clock?: Clock;
  readonly startTelemetry?: typeof startTelemetry;
  readonly calibrate?: Calibrate;
  readonly lockFolder?: string;
  readonly requestTimeoutMs?: SessionContext['requestTimeoutMs'];
  /** On the second Ctrl-C, after everything was killed. */
  readonly exit?: (code: ExitCode) => void;
}

export interface SessionOutcome {
  readonly status: 'finished' | 'interrupted' | 'aborted';
  readonly exitCode: number;
  /** `null` when it did not finish: the record goes on. */
  readonly verdict: Verdict | null;
  /** Why it was aborted. */
  readonly reason?: string;
}

function openRecord(options: SessionOptions, plan: Plan): Journal {
  const journal = openJournal(options.folder);
  if (journal.tornBytes > 0) {
    options.onNotice(
      `the last line of the journal was broken off: ${journal.tornBytes} bytes were moved to journal.torn`,
    );
  }
  // Also proves that the record fits the plan before anything is added to it.
  const wanted = runsLeftInPlan(plan, journal.events).length;
  const left = wanted - runsDone(plan, journal.events).size;
  if (options.resumed) options.onNotice(`${left} of ${wanted} runs are left`);
  return journal;
}

async function journalSession(options: SessionOptions, journal: Journal, clock: Clock): Promise<void> {
  journal.append({
    type: 'session',
    utc: utcOf(clock),
    resumed: options.resumed,
    ...(journal.tornBytes > 0 ? { tornBytes: journal.tornBytes } : {}),
    machine: await readMachineCard(),
    rota: options.rota,
    pid: process.pid,
  });
  journal.sync();
}

interface Held {
  readonly clock: Clock;
  readonly plan: Plan;
  readonly guard: Guard;
  readonly gpus: GpuMonitor | null;
  readonly interrupts: Interrupts;
  readonly running: SessionContext['running'];
}

function interruptedOutcome(journal: Journal, clock: Clock, interrupted: Interrupted): SessionOutcome {
  journal.append({ type: 'interrupted', utc: utcOf(clock), signal: interrupted.signal });
  journal.sync();
  return { status: 'interrupted', exitCode: interrupted.exitCode, verdict: null };
}

function abortedOutcome(journal: Journal, clock: Clock, reason: string): SessionOutcome {
  journal.append({ type: 'aborted', utc: utcOf(clock), reason });
  journal.sync();
  return { status: 'aborted', exitCode: EXIT.couldNotMeasure, verdict: null, reason };
}

/** Whatever happens: the background is gone before anything else is measured. */
async function besideBackground(shared: Omit<SessionContext, 'background'>): Promise<BlocksOutcome> {
  await using background = createBackground(shared);
  return await runBlocks({ ...shared, background });
}

async function runRecord(options: SessionOptions, held: Held, journal: Journal): Promise<SessionOutcome> {
  const { clock, plan, guard, gpus, interrupts, running } = held;
  const periodMs = plan.telemetryPeriodMs;
  const watch = options.startTelemetry ?? startTelemetry;
  await using telemetry = watch({ clock, periodMs, file: options.folder.telemetry, gpus });
  const progress = createProgressMeter(plan, runsDone(plan, journal.events), clock, options.onProgress);
  const ceiling = async (when: 'before' | 'after'): Promise<void> => {
    progress.tell('ceiling');
    const how = { clock, env: guard.newLeash().env, signal: interrupts.signal };
    journal.append(await measureCeiling(options.probe, when, how));
    journal.sync();
  };
  await ceiling('before');
  const shared = {
    plan,
    folder: options.folder,
    journal,
    clock,
    startedMs: clock.monotonicMs(),
    guard,
    telemetry,
    gpus,
    calibrate: options.calibrate ?? createCalibrator(() => clock.monotonicMs()),
    promptIds: options.promptIds,
    descriptorOf: options.descriptorOf,
    progress,
    signal: interrupts.signal,
    requestTimeoutMs: options.requestTimeoutMs ?? defaultRequestTimeoutMs,
    weights: weightsOf(plan, journal.events),
    running,
  };
  const outcome = await besideBackground(shared);
  if (outcome.status === 'interrupted') throw outcome.interrupted;
  if (outcome.status === 'aborted') return abortedOutcome(journal, clock, outcome.reason);
  await ceiling('after');
  journal.append({ type: 'session_end', utc: utcOf(clock) });
  journal.sync();
  const verdict = writeVerdict(options.folder);
  return { status: 'finished', exitCode: verdict.exitCode, verdict };
}

/** With the machine taken and the guard in place. */
async function recordSession(options: SessionOptions, held: Omit<Held, 'gpus'>): Promise<SessionOutcome> {
  const { clock, plan, guard, interrupts } = held;
  using journal = openRecord(options, plan);
  const notice = await foreignLoadNow(plan, clock, guard.id === null ? [] : [guard.id.pid]);
  if (notice !== null) options.onNotice(notice);
  for (const line of inheritedNotices(plan, options.descriptorOf)) options.onNotice(line);
  await journalSession(options, journal, clock);
  const gpus = await startGpuMonitor({
    monotonicMs: () => clock.monotonicMs(),
    periodMs: plan.telemetryPeriodMs,
    env: guard.newLeash().env,
  });
  try {
    interrupts.signal.throwIfAborted();
    return await runRecord(options, { ...held, gpus }, journal);
  } catch (error) {
    if (error instanceof Interrupted) return interruptedOutcome(journal, clock, error);
    throw error;
  }
}

/** Runs what the plan in the folder still misses. The first Ctrl-C ends it cleanly; the second at once. */
export async function runSession(options: SessionOptions): Promise<SessionOutcome> {
  const clock = options.clock ?? systemClock;
  const plan = readPlan(options.folder);
  checkNeeds(plan, options.folder.path, options.descriptorOf);
  const running: SessionContext['running'] = { session: null };
  const exit = options.exit ?? process.exit;
  using interrupts = listenForInterrupts((second) => {
    running.session?.kill();
    // What the engine started itself is ended by the guard, as after any sudden death of Rota.
    exit(second.exitCode);
  });
  const outcome = await heldSession(options, { clock, plan, interrupts, running });
  // Came when all was on the disk: nothing is lost, but nobody waits for the verdict either.
  if (outcome.status === 'finished') interrupts.signal.throwIfAborted();
  return outcome;
}

/** With a guard beside it and the machine its own. */
async function heldSession(
  options: SessionOptions,
  held: Omit<Held, 'gpus' | 'guard'>,
): Promise<SessionOutcome> {
  const { clock, interrupts } = held;
  await using guard = await startGuard();
  using _lock = await lockMachine({
    clock,
    command: options.command,
    folder: options.folder.path,
    utc: utcOf(clock),
    guard: guard.id,
    share: options.shareMachine,
    signal: interrupts.signal,
    ...(options.lockFolder === undefined ? {} : { lockFolder: options.lockFolder }),
  });
  return await recordSession(options, { ...held, guard });
}
