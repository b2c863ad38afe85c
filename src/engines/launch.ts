// Owns an engine as a process: its group, its pipes, its log file, its death. Knows nothing of what is said over the pipes.

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { EngineError } from '../core/errors.ts';
import { identify, type ProcessId } from '../machine/processes.ts';
import type { EngineDescriptor } from '../schema/descriptor.ts';
import { withoutKnobs } from './environment.ts';
import type { Guard, Leash } from './guard.ts';
import { readLogTail } from './log-tail.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface EngineProcess {
  readonly id: ProcessId;
  readonly leash: Leash;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Where its stderr goes, straight from the engine. */
  readonly logFile: string;
  /** Settles when the process has ended and its stdout has been read to the end. Never rejects. */
  readonly ended: Promise<Exit>;
  readonly exit: Exit | null;
  /** To every process of the group. False when there is none. */
  signalGroup(signal: NodeJS.Signals): boolean;
}

/** The same for every engine: numbers in English, GPUs in the order in which nvidia-smi counts them. */
const FIXED_ENV = { LC_ALL: 'C.UTF-8', CUDA_DEVICE_ORDER: 'PCI_BUS_ID' };

export function describeExit(exit: Exit): string {
  return exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
}

export interface LaunchOptions {
  readonly argv: readonly string[];
  /** What the knobs set. */
  readonly env: Readonly<Record<string, string>>;
  readonly descriptor: Pick<EngineDescriptor, 'knobs'>;
  readonly logFile: string;
  readonly guard: Guard;
}

/** Rejects, with the reason in a word, when the program cannot be started at all. */
async function spawned(child: ChildProcess, program: string): Promise<number> {
  const error = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    child.once('spawn', () => resolve(null)).once('error', resolve);
  });
  if (error === null && child.pid !== undefined) return child.pid;
  const reasons: Record<string, string> = { ENOENT: 'no such program', EACCES: 'not executable' };
  throw new EngineError(
    `cannot start ${program}: ${reasons[error?.code ?? ''] ?? error?.message ?? 'no process'}`,
    {
      phase: 'start',
    },
  );
}

export async function launchEngine(options: LaunchOptions): Promise<EngineProcess> {
  const [program = '', ...args] = options.argv;
  const leash = options.guard.newLeash();
  const log = openSync(options.logFile, 'a');
  let child: ChildProcess;
  try {
    child = spawn(program, args, {
      detached: true,
      stdio: ['pipe', 'pipe', log],
      env: {
        ...withoutKnobs(options.descriptor.knobs, process.env),
        ...FIXED_ENV,
        ...options.env,
        ...leash.env,
      },
    });
  } finally {
    closeSync(log);
  }
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('a piped child has no pipes');
  // Writing to an engine that has just died is not an error of its own: its death is reported.
  stdin.on('error', () => {});
  let exit: Exit | null = null;
  const ended = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      exit = { code, signal };
      // A grandchild may hold stdout open for ever; what the engine itself wrote has arrived by then.
      setTimeout(() => resolve({ code, signal }), 200).unref();
    });
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const pid = await spawned(child, program);
  options.guard.watch(pid);
  return {
    id: identify(pid) ?? { pid, startTicks: -1 },
    leash,
    stdin,
    stdout,
    logFile: options.logFile,
    ended,
    get exit() {
      return exit;
    },
    signalGroup(signal) {
      try {
        return process.kill(-pid, signal);
      } catch {
        return false;
      }
    },
  };
}

export function engineDied(engine: EngineProcess, exit: Exit, phase: string): EngineError {
  return new EngineError(`the engine ended while it should ${phase}: ${describeExit(exit)}`, {
    phase,
    exit: exit.signal ?? exit.code ?? undefined,
    logTail: readLogTail(engine.logFile),
  });
}
