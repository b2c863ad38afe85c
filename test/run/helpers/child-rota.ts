// A Rota of its own process, to be killed, signalled or doubled: built once, started on a plan, looked after.

import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { expect } from 'vitest';
import { LEASH } from '../../../src/machine/processes.ts';
import { readJournal } from '../../../src/results/journal.ts';
import type { RunFolder } from '../../../src/results/run-folder.ts';
import { newRunFolder } from '../../../src/run/prepare.ts';
import { runSession } from '../../../src/run/session.ts';
import { recomputeVerdict } from '../../../src/run/verdict-file.ts';
import { temporaryFolder } from '../../engines/helpers/fake.ts';
import {
  type Arms,
  eventsOf,
  type FakeProtocol,
  fakeProtocol,
  preparedPlan,
  sessionOptions,
} from './fake-session.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** Below the project, so that the program finds its root as the built one does. */
const OUT = path.join(ROOT, 'node_modules', '.cache', `rota-test-${process.pid}`);

export async function buildSession(): Promise<void> {
  const entry = fileURLToPath(new URL('./session-main.ts', import.meta.url));
  await build({
    root: ROOT,
    logLevel: 'error',
    configFile: false,
    build: { ssr: entry, outDir: OUT, emptyOutDir: true, target: 'node20' },
  });
}

export function removeSession(): void {
  rmSync(OUT, { recursive: true, force: true });
}

export interface Rota {
  readonly child: ChildProcess;
  /** Settles when it has printed a line that fits. */
  printed(pattern: RegExp): Promise<void>;
  readonly ended: Promise<number | NodeJS.Signals | null>;
  output(): string;
}

export function startRota(
  options: { folder: string; base: string; resumed: boolean },
  env: Readonly<Record<string, string>> = {},
): Rota {
  const child = spawn(process.execPath, [path.join(OUT, 'session-main.js'), JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('close', (code, signal) => resolve(signal ?? code));
  });
  return {
    child,
    ended,
    output: () => output,
    async printed(pattern) {
      for (const end = Date.now() + 60_000; !pattern.test(output); ) {
        if (Date.now() > end || child.exitCode !== null)
          throw new Error(`never printed ${pattern}:\n${output}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
  };
}

/** Everything that was launched for this folder: its model's path is on the command line, or it is on a leash. */
export function enginesOf(base: string): number[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
      const isEngine = command.includes(`${base}/model`);
      return /^\d+$/.test(pid) && isEngine ? [Number(pid)] : [];
    } catch {
      return [];
    }
  });
}

/** Marked processes anywhere, whatever their command line says. */
export function leashed(session: string): number[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const marked = readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${LEASH}=${session}`);
      return /^\d+$/.test(pid) && marked ? [Number(pid)] : [];
    } catch {
      return [];
    }
  });
}

export function leashOf(pid: number): string {
  const match = new RegExp(`${LEASH}=([^.]+)`).exec(readFileSync(`/proc/${pid}/environ`, 'latin1'));
  if (match?.[1] === undefined) throw new Error(`process ${pid} is on no leash`);
  return match[1];
}

export interface Prepared extends Disposable {
  readonly base: string;
  readonly protocol: FakeProtocol;
  readonly folder: RunFolder;
}

/** @param extra more of the protocol, from the folder that it lies in */
export function prepare(arms: Arms, blocks: number, extra: (base: string) => string = () => ''): Prepared {
  const temporary = temporaryFolder();
  const protocol = fakeProtocol(temporary.path, arms, { blocks, extra: extra(temporary.path) });
  const folder = newRunFolder(path.join(temporary.path, 'results'), preparedPlan(protocol));
  return { base: temporary.path, protocol, folder, [Symbol.dispose]: temporary[Symbol.dispose] };
}

/** Finishes the run in this process and checks that every planned run is there once, and good. */
export async function resumeAndCheck({ folder, protocol }: Prepared): Promise<void> {
  const plan = preparedPlan(protocol);
  const options = await sessionOptions(protocol, plan, folder, { resumed: true });
  const outcome = await runSession(options);
  expect(outcome.exitCode).toBe(0);
  const { events } = readJournal(folder);
  const good = eventsOf(events, 'run_end').filter(({ status }) => status === 'ok');
  expect(good.map(({ run }) => run).sort()).toEqual(plan.runs.map(({ id }) => id).sort());
  expect(recomputeVerdict(folder).runs.every(({ status }) => status === 'ok')).toBe(true);
  expect(eventsOf(events, 'session').map(({ resumed }) => resumed)).toContain(true);
}
