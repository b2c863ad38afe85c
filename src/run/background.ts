// Owns the load that a protocol wants beside its runs: on in the blocks of the plan and off in all others, ended with the session whatever
// happens. It is never warmed up, judged or compared; its dose is read by the telemetry.

import path from 'node:path';
import { EngineError } from '../core/errors.ts';
import type { PlannedBackground } from '../core/records/plan.ts';
import { describeExit, type EngineProcess, launchEngine } from '../engines/launch.ts';
import { type EngineSession, openSession } from '../engines/session.ts';
import { stopEngine } from '../engines/stop.ts';
import { utcOf } from '../machine/clock.ts';
import type { SessionContext } from './context.ts';

export interface Background extends AsyncDisposable {
  /** Puts it on or off, as the plan wants it in this block. */
  enter(block: number): Promise<void>;
  /** Throws when it should be on and is not any more: a run that it left half way was not measured beside it. */
  check(): void;
}

type Shared = Omit<SessionContext, 'background'>;

/** What runs now, whatever it is. */
interface Running {
  readonly pid: number;
  /** How it ended by itself; null while it runs. */
  ended(): string | null;
  stop(): Promise<{
    readonly exit: number | string | null;
    readonly answers?: number;
    readonly tokens?: number;
  }>;
}

export function createBackground(context: Shared): Background {
  const planned = context.plan.background;
  let running: { readonly load: Running; readonly block: number } | null = null;

  async function leave(): Promise<void> {
    if (running === null) return;
    const { load, block } = running;
    running = null;
    const early = load.ended() !== null;
    const ended = await load.stop();
    context.telemetry.watchBackground(null);
    context.journal.append({ type: 'background_end', utc: utcOf(context.clock), block, early, ...ended });
    context.journal.sync();
  }

  return {
    async enter(block) {
      if (planned === undefined) return;
      const isWanted = planned.blocks.includes(block);
      if (isWanted && running?.block === block && running.load.ended() === null) return;
      await leave();
      if (!isWanted) return;
      context.progress.tell('background');
      const load = await start(context, planned, block).catch((error: unknown) => {
        throw error instanceof EngineError ? named(error, planned) : error;
      });
      running = { load, block };
      context.telemetry.watchBackground(load.pid);
      const { argv, env } = planned;
      context.journal.append({
        type: 'background_start',
        utc: utcOf(context.clock),
        block,
        argv,
        env,
        pid: load.pid,
      });
      context.journal.sync();
      await context.clock.sleep(planned.settleMs, context.signal);
      context.signal.throwIfAborted();
    },
    check() {
      const how = running?.load.ended() ?? null;
      if (how !== null)
        throw new EngineError(`the background ended by itself: ${how}`, { phase: 'background' });
    },
    [Symbol.asyncDispose]: leave,
  };
}

function named(error: EngineError, { name }: PlannedBackground): EngineError {
  return new EngineError(`the background ${name}: ${error.message}`, {
    phase: 'background',
    logTail: error.logTail,
  });
}

async function start(context: Shared, planned: PlannedBackground, block: number): Promise<Running> {
  const { serves, argv, env } = planned;
  const how = {
    ...{ argv, env, guard: context.guard, clock: context.clock },
    logFile: path.join(context.folder.logs, `background.b${block}.log`),
  };
  if (serves === undefined)
    return command(context, await launchEngine({ ...how, descriptor: { knobs: {} } }));
  const session = await openSession({ ...how, descriptor: context.descriptorOf(serves.engine) });
  try {
    await session.ready(context.signal);
  } catch (error) {
    await session.stop();
    throw error;
  }
  return engine(context, serves, session);
}

const GRACE_MS = 2_000;

function command({ clock, guard }: Shared, child: EngineProcess): Running {
  // What it prints is nobody's; a pipe that nobody reads would stop it.
  child.stdout.resume();
  return {
    pid: child.id.pid,
    ended: () => (child.exit === null ? null : describeExit(child.exit)),
    async stop() {
      const quit = (): void => {
        child.stdin.end();
        child.signalGroup('SIGTERM');
      };
      const { exit, left } = await stopEngine(child, { clock, graceMs: GRACE_MS, quit });
      if (left.length === 0) guard.forget(child.id.pid);
      return { exit: exit === null ? null : (exit.signal ?? exit.code) };
    },
  };
}

/** One request after the other. A message every few seconds is all that it costs Rota; telemetry counts that with Rota's own. */
function engine(
  context: Shared,
  { model, maxNew }: NonNullable<PlannedBackground['serves']>,
  session: EngineSession,
): Running {
  const stopping = new AbortController();
  const done = { answers: 0, tokens: 0 };
  let failure: string | null = null;
  async function answer(): Promise<void> {
    const prompts = context.plan.workloads.flatMap(({ warmupPrompts }) => warmupPrompts);
    for (let i = 0; !stopping.signal.aborted; i++) {
      const prompt = prompts[i % prompts.length];
      if (prompt === undefined) throw new Error('a plan without a warm-up prompt');
      const ids = context.promptIds(model, prompt);
      const request = { prompt: ids, maxNew, ...context.plan.sampling, ignoreEos: true, stop: [] };
      const timeoutMs = context.requestTimeoutMs(ids.length, maxNew);
      const { result } = await session.generate(request, { timeoutMs, signal: stopping.signal });
      done.answers += 1;
      done.tokens += result.tokens;
    }
  }
  const answering = answer().catch((error: unknown) => {
    if (!stopping.signal.aborted) failure = error instanceof Error ? error.message : String(error);
  });
  return {
    pid: session.pid,
    ended: () => failure,
    async stop() {
      stopping.abort();
      await answering;
      const { exit } = await session.stop();
      return { exit: exit === null ? null : (exit.signal ?? exit.code), ...done };
    },
  };
}
