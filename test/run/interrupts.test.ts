// Ctrl-C and sudden death: what was measured stays, no engine is left, and a resume finishes with every run there once.

import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { LEASH } from '../../src/machine/processes.ts';
import { readJournal } from '../../src/results/journal.ts';
import type { RunFolder } from '../../src/results/run-folder.ts';
import { newRunFolder } from '../../src/run/prepare.ts';
import { runSession } from '../../src/run/session.ts';
import { recomputeVerdict } from '../../src/run/verdict-file.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import {
  type Arms,
  eventsOf,
  type FakeProtocol,
  fakeProtocol,
  preparedPlan,
  sessionOptions,
} from './helpers/fake-session.ts';

// Starting processes takes many times as long on a machine that compiles beside.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Below the project, so that the program finds its root as the built one does. */
const OUT = path.join(ROOT, 'node_modules', '.cache', `rota-test-${process.pid}`);

beforeAll(async () => {
  const entry = fileURLToPath(new URL('./helpers/session-main.ts', import.meta.url));
  await build({
    root: ROOT,
    logLevel: 'error',
    configFile: false,
    build: { ssr: entry, outDir: OUT, emptyOutDir: true, target: 'node20' },
  });
});
afterAll(() => rmSync(OUT, { recursive: true, force: true }));

interface Rota {
  readonly child: ChildProcess;
  /** Settles when it has printed a line that fits. */
  printed(pattern: RegExp): Promise<void>;
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

function startRota(options: { folder: string; base: string; resumed: boolean }): Rota {
  const child = spawn(process.execPath, [path.join(OUT, 'session-main.js'), JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'pipe'],
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
    async printed(pattern) {
      for (const end = Date.now() + 15_000; !pattern.test(output); ) {
        if (Date.now() > end || child.exitCode !== null)
          throw new Error(`never printed ${pattern}:\n${output}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
  };
}

/** Everything that was launched for this folder: its model's path is on the command line, or it is on a leash. */
function enginesOf(base: string): number[] {
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
function leashed(session: string): number[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const marked = readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${LEASH}=${session}`);
      return /^\d+$/.test(pid) && marked ? [Number(pid)] : [];
    } catch {
      return [];
    }
  });
}

function leashOf(pid: number): string {
  const match = new RegExp(`${LEASH}=([^.]+)`).exec(readFileSync(`/proc/${pid}/environ`, 'latin1'));
  if (match?.[1] === undefined) throw new Error(`process ${pid} is on no leash`);
  return match[1];
}

interface Prepared extends Disposable {
  readonly base: string;
  readonly protocol: FakeProtocol;
  readonly folder: RunFolder;
}

function prepare(arms: Arms, blocks: number): Prepared {
  const temporary = temporaryFolder();
  const protocol = fakeProtocol(temporary.path, arms, { blocks });
  const folder = newRunFolder(path.join(temporary.path, 'results'), preparedPlan(protocol));
  return { base: temporary.path, protocol, folder, [Symbol.dispose]: temporary[Symbol.dispose] };
}

/** Finishes the run in this process and checks that every planned run is there once, and good. */
async function resumeAndCheck({ folder, protocol }: Prepared): Promise<void> {
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

test.each(['stubborn', 'grandchildren'])(
  'kill -9 of rota in mid-run leaves no %s engine, and resume finishes',
  async (play) => {
    using prepared = prepare({ a: { play, rate: 200 }, b: { play, rate: 190 } }, 2);
    const rota = startRota({ folder: prepared.folder.path, base: prepared.base, resumed: false });
    await rota.printed(/measure \w 1/);
    const [engine] = enginesOf(prepared.base);
    if (engine === undefined) throw new Error('no engine runs');
    const leash = leashOf(engine);
    expect(leashed(leash).length).toBe(play === 'grandchildren' ? 3 : 1);
    rota.child.kill('SIGKILL');
    expect(await rota.ended).toBe('SIGKILL');
    const begin = Date.now();
    while (leashed(leash).length > 0 && Date.now() - begin < 5000)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(leashed(leash)).toEqual([]);
    expect(enginesOf(prepared.base)).toEqual([]);
    // The write that the kill cut short.
    appendFileSync(prepared.folder.journal, '{"type":"window","utc":"2026');
    const before = eventsOf(readJournal(prepared.folder).events, 'run_end').length;
    await resumeAndCheck(prepared);
    const { events } = readJournal(prepared.folder);
    expect(readFileSync(prepared.folder.torn, 'utf8')).toBe('{"type":"window","utc":"2026');
    expect(eventsOf(events, 'session')[1]?.tornBytes).toBe(28);
    // No finished run was run again, and the unfinished one was repeated whole.
    expect(before).toBe(1);
    expect(eventsOf(events, 'run_start').map(({ attempt }) => attempt)).toEqual([1, 1, 2, 1, 1]);
  },
);

test('a rota that was killed is resumed by a process of its own just as well', async () => {
  using prepared = prepare({ a: { rate: 200 }, b: { rate: 190 } }, 1);
  const first = startRota({ folder: prepared.folder.path, base: prepared.base, resumed: false });
  await first.printed(/warm-up/);
  first.child.kill('SIGKILL');
  await first.ended;
  const second = startRota({ folder: prepared.folder.path, base: prepared.base, resumed: true });
  expect(await second.ended).toBe(0);
  expect(recomputeVerdict(prepared.folder).complete).toBe(true);
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s stops the engine cleanly, is recorded, and can be resumed', async (signal, code) => {
  using prepared = prepare({ a: { rate: 100 }, b: { rate: 110 } }, 1);
  const rota = startRota({ folder: prepared.folder.path, base: prepared.base, resumed: false });
  await rota.printed(/measure/);
  rota.child.kill(signal);
  expect(await rota.ended).toBe(code);
  expect(enginesOf(prepared.base)).toEqual([]);
  const { events } = readJournal(prepared.folder);
  expect(eventsOf(events, 'interrupted')).toMatchObject([{ signal }]);
  expect(eventsOf(events, 'run_end').at(-1)).toMatchObject({
    status: 'void',
    reason: `interrupted by ${signal}`,
    exit: 0,
  });
  expect(existsSync(prepared.folder.verdict)).toBe(false);
  expect(readdirSync(prepared.base).filter((name) => name.endsWith('.lock'))).toEqual([]);
  await resumeAndCheck(prepared);
});

test('a second Ctrl-C does not wait for an engine that will not go', async () => {
  using prepared = prepare({ a: { play: 'stubborn', rate: 5 }, b: { play: 'stubborn', rate: 6 } }, 1);
  const rota = startRota({ folder: prepared.folder.path, base: prepared.base, resumed: false });
  await rota.printed(/launch/);
  await new Promise((resolve) => setTimeout(resolve, 300));
  rota.child.kill('SIGINT');
  await new Promise((resolve) => setTimeout(resolve, 50));
  const begin = Date.now();
  rota.child.kill('SIGINT');
  expect(await rota.ended).toBe(130);
  expect(Date.now() - begin).toBeLessThan(1000);
  while (enginesOf(prepared.base).length > 0 && Date.now() - begin < 5000) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(enginesOf(prepared.base)).toEqual([]);
});

test('a finished run that is resumed runs nothing again; one that was altered is refused', async () => {
  using prepared = prepare({ a: {}, b: { rate: 1900 } }, 1);
  const plan = preparedPlan(prepared.protocol);
  const options = await sessionOptions(prepared.protocol, plan, prepared.folder);
  await runSession(options);
  await runSession({ ...options, resumed: true });
  expect(eventsOf(readJournal(prepared.folder).events, 'run_start')).toHaveLength(2);
  const text = readFileSync(prepared.folder.journal, 'utf8');
  writeFileSync(prepared.folder.journal, text.replace('"tokens":12', '"tokens":13'));
  await expect(runSession({ ...options, resumed: true })).rejects.toThrow(
    'the record was altered after it was written',
  );
});
