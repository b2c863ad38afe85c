// Owns the running nvidia-smi streams and what they said last. Knows no window; without nvidia-smi there is no monitor.

import { type ChildProcess, spawn } from 'node:child_process';
import { execa } from 'execa';
import {
  type ComputeApp,
  computeApp,
  createCsvReader,
  type GpuField,
  type GpuSample,
  gpuSample,
  knownGpuFields,
} from './nvidia-smi-csv.ts';

export interface TimedGpuSample extends GpuSample {
  readonly monotonicMs: number;
}

export interface TimedComputeApp extends ComputeApp {
  readonly monotonicMs: number;
}

export interface GpuMonitor extends AsyncDisposable {
  /** The monitor's own processes, so that their cost is not taken for foreign load. */
  readonly pids: readonly number[];
  readonly periodMs: number;
  /** Since the last call of `forget`, and the little before that a short window needs. */
  readonly samples: readonly TimedGpuSample[];
  /** `null` when the stream of compute processes ended or never worked. */
  readonly apps: readonly TimedComputeApp[] | null;
  /** The last word about each card, however long ago. */
  readonly newest: ReadonlyMap<string, TimedGpuSample>;
  readonly alive: boolean;
  forget(): void;
}

/** English numbers whatever the user's locale: a decimal comma would be read as "not known". */
const PLAIN_LOCALE = { LC_ALL: 'C.UTF-8' };

/** Buffers are cut to this many rows; a window that nobody forgets must not grow without end. */
const MAX_ROWS = 100_000;

interface Stream {
  readonly child: ChildProcess;
  alive: boolean;
}

type OnRow = (row: ReadonlyMap<string, string>) => void;

function startStream(command: string, args: string[], env: NodeJS.ProcessEnv, onRow: OnRow): Stream {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'], env });
  const stream: Stream = { child, alive: true };
  const reader = createCsvReader('uuid', onRow);
  child.stdout.setEncoding('utf8').on('data', (text: string) => reader.push(text));
  child.on('error', () => {
    stream.alive = false;
  });
  child.on('exit', () => {
    stream.alive = false;
  });
  return stream;
}

async function askFields(command: string): Promise<Partial<Record<GpuField, string>> | null> {
  const list = await execa(command, ['-L'], { reject: false, timeout: 20_000, env: PLAIN_LOCALE });
  if (list.exitCode !== 0 || !/UUID: /.test(list.stdout)) return null;
  const help = await execa(command, ['--help-query-gpu'], {
    reject: false,
    timeout: 20_000,
    env: PLAIN_LOCALE,
  });
  const fields = help.exitCode === 0 ? knownGpuFields(help.stdout) : {};
  return fields.uuid === undefined ? null : fields;
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

/** `null` on a machine whose driver tool is missing or sees no GPU. */
export async function startGpuMonitor(options: {
  readonly monotonicMs: () => number;
  readonly periodMs: number;
  readonly command?: string;
  /** Marks the streams, so that they end with the session however it ends. */
  readonly env?: Readonly<Record<string, string>>;
}): Promise<GpuMonitor | null> {
  const command = options.command ?? 'nvidia-smi';
  const fields = await askFields(command);
  if (fields === null) return null;
  const newest = new Map<string, TimedGpuSample>();
  let samples: TimedGpuSample[] = [];
  let apps: TimedComputeApp[] = [];
  const keep = <T>(rows: T[], row: T): void => {
    rows.push(row);
    if (rows.length > MAX_ROWS) rows.splice(0, MAX_ROWS / 2);
  };
  const loop = ['--format=csv,nounits', '-lms', String(options.periodMs)];
  const env = { ...process.env, ...PLAIN_LOCALE, ...options.env };
  const gpus = startStream(
    command,
    [`--query-gpu=${Object.values(fields).join(',')}`, ...loop],
    env,
    (row) => {
      const sample = gpuSample(row, fields);
      if (sample === null) return;
      const timed = { ...sample, monotonicMs: options.monotonicMs() };
      newest.set(timed.uuid, timed);
      keep(samples, timed);
    },
  );
  const users = startStream(
    command,
    ['--query-compute-apps=gpu_uuid,pid,used_memory', ...loop],
    env,
    (row) => {
      const app = computeApp(row);
      if (app !== null) keep(apps, { ...app, monotonicMs: options.monotonicMs() });
    },
  );
  return {
    pids: [gpus, users].flatMap((stream) => stream.child.pid ?? []),
    periodMs: options.periodMs,
    get samples() {
      return samples;
    },
    get apps() {
      return users.alive ? apps : null;
    },
    get alive() {
      return gpus.alive;
    },
    newest,
    forget() {
      const since = options.monotonicMs() - 2 * options.periodMs;
      samples = samples.filter((row) => row.monotonicMs >= since);
      apps = apps.filter((row) => row.monotonicMs >= since);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([endChild(gpus.child), endChild(users.child)]);
    },
  };
}
