// A command line that gets a signal in a phase of its work: waits for the phase, sends it, and says how that ended.
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import type { Bench } from './rota.ts';

type Running = ReturnType<Bench['rota']>;

/** Processes whose command line contains the text. */
export function processesNaming(text: string): number[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const isOne = readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
      return /^\d+$/.test(pid) && isOne ? [Number(pid)] : [];
    } catch {
      return [];
    }
  });
}

/** Whether the process has the file open. */
export function hasOpen(pid: number | undefined, file: string): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((fd) => readlinkSync(path.join(folder, fd)).endsWith(file));
  } catch {
    return false;
  }
}

/** The newest run's journal as it is now; empty before there is one. */
export function journalNow(bench: Bench): string {
  const results = bench.path('results');
  const newest = existsSync(results) ? readdirSync(results).sort().at(-1) : undefined;
  const journal = path.join(results, newest ?? '', 'journal.jsonl');
  return newest !== undefined && existsSync(journal) ? readFileSync(journal, 'utf8') : '';
}

const PHASE_MS = 40_000;
const TOO_LONG_MS = 20_000;

interface Ended {
  readonly exitCode: number | undefined;
  /** Killed by it, instead of having ended on its own. */
  readonly signal: string | undefined;
  readonly stderr: string;
  readonly stdout: string;
  readonly endedAfterMs: number;
}

/** `folder`: what every process that belongs to it has on its command line. */
export async function signalled(
  folder: string,
  running: Running,
  signal: NodeJS.Signals,
  isInPhase: () => boolean,
): Promise<Ended> {
  let isOver = false;
  void running.then(() => {
    isOver = true;
  });
  for (const end = Date.now() + PHASE_MS; !isInPhase(); ) {
    if (isOver || Date.now() > end) throw new Error(`the phase never came:\n${(await running).stderr}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const begin = Date.now();
  running.kill(signal);
  // What does not end, or left somebody behind who holds its pipes, must not hold up the test that says so.
  const endAll = setTimeout(() => {
    for (const pid of processesNaming(folder)) process.kill(pid, 'SIGKILL');
  }, TOO_LONG_MS);
  const { exitCode, signal: killedBy, stderr, stdout } = await running;
  clearTimeout(endAll);
  return { exitCode, signal: killedBy, stderr, stdout, endedAfterMs: Date.now() - begin };
}

const CODES = { SIGTERM: 143, SIGINT: 130 } as const;
/** An engine that ignores everything takes two graces of half a second; the rest is a busy machine. */
const SECONDS = 8_000;

/** The exit code is its own, not a death, and nothing that it started is left. */
export function expectClean(bench: Bench, ended: Ended, signal: keyof typeof CODES): void {
  expect([ended.exitCode, ended.signal]).toEqual([CODES[signal], undefined]);
  expect(ended.endedAfterMs).toBeLessThan(SECONDS);
  expect(processesNaming(bench.folder)).toEqual([]);
}
