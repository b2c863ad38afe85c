// Owns one start of an engine, from launch to the last process gone: what a run, a smoke test and `rota ask` talk to.

import { statSync } from 'node:fs';
import { EngineError } from '../core/errors.ts';
import type { EngineReady, GenerateRequest } from '../core/records/answer.ts';
import type { Clock } from '../machine/clock.ts';
import type { EngineDescriptor } from '../schema/descriptor.ts';
import type { Guard } from './guard.ts';
import type { StrayOutput } from './inbox.ts';
import { type EngineProcess, engineDied, launchEngine } from './launch.ts';
import { boundLog } from './log-bound.ts';
import { cleanLines, readLogTail } from './log-tail.ts';
import type { Message } from './message.ts';
import {
  type Answer,
  generateBody,
  readDone,
  readReady,
  readScore,
  type ScoredTokens,
  type ScoreRequest,
  scoreBody,
} from './rota-dialect.ts';
import { createStdioClient, RefusedError, type StdioClient } from './stdio-client.ts';
import { type StopReport, stopEngine } from './stop.ts';

export interface SessionOptions {
  readonly descriptor: Pick<EngineDescriptor, 'ready' | 'stop' | 'knobs'>;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  readonly guard: Guard;
  readonly clock: Clock;
  readonly maxLogBytes?: number;
  readonly onLoading?: (progress: { readonly bytes: number | null; readonly total: number | null }) => void;
}

export interface GenerateOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Ids as they come. A measured request does not stream. */
  readonly onTokens?: ((ids: readonly number[]) => void) | undefined;
}

export interface EngineSession extends AsyncDisposable {
  readonly pid: number;
  readonly logFile: string;
  /** Waits for the engine's own word. `loadMs` counts from the launch. */
  ready(signal?: AbortSignal): Promise<{ readonly ready: EngineReady; readonly loadMs: number }>;
  generate(request: GenerateRequest, options: GenerateOptions): Promise<Answer>;
  /**
   * What it thinks of given tokens, teacher-forced. RefusedError when it knows no such request, or not all that is asked of it, or
   * refuses these tokens; null when half of the answer is missing.
   */
  score(request: ScoreRequest, options: GenerateOptions): Promise<ScoredTokens | null>;
  /** Puts its caches back to where they were at ready. False when it knows no such request. */
  reset(signal?: AbortSignal): Promise<boolean>;
  readonly stray: StrayOutput;
  readonly violation: string | null;
  /** Ends it; the same report however often it is called. */
  stop(): Promise<StopReport>;
  /** Ends it at once, without waiting: for a second Ctrl-C. */
  kill(): void;
  logTail(): string[];
  logBytes(): number;
}

const RESET_TIMEOUT_MS = 60_000;

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

/** Gives an error of the conversation what only the session knows: how the engine ended and its last words. */
function withLog(error: unknown, engine: EngineProcess): unknown {
  if (!(error instanceof EngineError) || error instanceof RefusedError || error.logTail.length > 0)
    return error;
  return new EngineError(error.message, {
    phase: error.phase,
    exit: error.exit,
    logTail: readLogTail(engine.logFile),
  });
}

/** What the engine should be doing: named in the error when it dies, and around every wait for it. */
function createPhase(engine: EngineProcess): {
  readonly name: string;
  during<T>(name: string, work: () => Promise<T>): Promise<T>;
} {
  let current = 'get ready';
  return {
    get name() {
      return current;
    },
    async during(name, work) {
      current = name;
      try {
        return await work();
      } catch (error) {
        throw withLog(error, engine);
      } finally {
        current = 'wait for a request';
      }
    },
  };
}

async function waitReady(
  said: Promise<Message>,
  limit: { readonly seconds: number; readonly clock: Clock; readonly signal: AbortSignal | undefined },
): Promise<EngineReady> {
  const stop = new AbortController();
  const either = limit.signal === undefined ? stop.signal : AbortSignal.any([stop.signal, limit.signal]);
  try {
    const tooLate = limit.clock.sleep(limit.seconds * 1000, either).then(() => null);
    const message = await Promise.race([said, tooLate]);
    if (message !== null) return readReady(message);
  } finally {
    stop.abort();
  }
  limit.signal?.throwIfAborted();
  throw new EngineError(`not ready within ${limit.seconds} s`, { phase: 'get ready' });
}

async function generate(
  client: StdioClient,
  request: GenerateRequest,
  options: GenerateOptions,
): Promise<Answer> {
  const { timeoutMs, signal, onTokens } = options;
  const onMessage = ({ body }: Message): void => {
    onTokens?.(Array.isArray(body['ids']) ? body['ids'].filter(Number.isInteger) : []);
  };
  const body = generateBody(request, onTokens !== undefined);
  return readDone(await client.ask({ body, phase: 'generate', timeoutMs, signal, onTokens: onMessage }));
}

async function score(
  client: StdioClient,
  request: ScoreRequest,
  { timeoutMs, signal }: GenerateOptions,
): Promise<ScoredTokens | null> {
  return readScore(await client.ask({ body: scoreBody(request), phase: 'score', timeoutMs, signal }));
}

async function reset(client: StdioClient, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await client.ask({ body: { op: 'reset' }, phase: 'reset', timeoutMs: RESET_TIMEOUT_MS, signal });
    return true;
  } catch (error) {
    // An engine that refuses the word lives on without it; one that died or went silent does not.
    if (error instanceof RefusedError) return false;
    throw error;
  }
}

export async function openSession(options: SessionOptions): Promise<EngineSession> {
  const { clock, guard, descriptor } = options;
  const launchedMs = clock.monotonicMs();
  const engine = await launchEngine(options);
  const log = boundLog(options.logFile, options.maxLogBytes);
  const phase = createPhase(engine);
  let stopping: Promise<StopReport> | null = null;
  const client = createStdioClient({
    stdin: engine.stdin,
    stdout: engine.stdout,
    onLoading: ({ body }) =>
      options.onLoading?.({ bytes: numberOrNull(body['bytes']), total: numberOrNull(body['total']) }),
  });
  void engine.ended.then((exit) => {
    if (stopping === null) client.fail(engineDied(engine, exit, phase.name));
  });

  async function end(): Promise<StopReport> {
    const quit = (): void => {
      client.tell({ op: 'quit' });
      engine.stdin.end();
    };
    const report = await stopEngine(engine, { clock, graceMs: descriptor.stop.graceS * 1000, quit });
    if (report.left.length === 0) guard.forget(engine.id.pid);
    log[Symbol.dispose]();
    log.check();
    return report;
  }
  function stop(): Promise<StopReport> {
    stopping ??= end();
    return stopping;
  }

  return {
    pid: engine.id.pid,
    logFile: options.logFile,
    ready: (signal) =>
      phase.during('get ready', async () => {
        const ready = await waitReady(client.ready, { seconds: descriptor.ready.timeoutS, clock, signal });
        return { ready, loadMs: clock.monotonicMs() - launchedMs };
      }),
    generate: (request, how) => phase.during('generate', () => generate(client, request, how)),
    score: (request, how) => phase.during('score', () => score(client, request, how)),
    reset: (signal) => phase.during('reset', () => reset(client, signal)),
    stray: client.stray,
    get violation() {
      return client.violation;
    },
    stop,
    kill: () => {
      engine.signalGroup('SIGKILL');
    },
    logTail: () => {
      const printed = client.stray.samples.flatMap(cleanLines).map((line) => `stdout: ${line}`);
      return [...readLogTail(engine.logFile), ...printed].slice(-40);
    },
    logBytes: () => statSync(options.logFile).size,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}
