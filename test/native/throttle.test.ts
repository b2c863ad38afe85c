// rota-throttle and the knob that is made of it: the program is really stopped, by the stated amount, says the same, and is never left
// standing still.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { bin, Strata, synthesise, temporaryFolder } from './helpers/strata.ts';

vi.setConfig({ testTimeout: 60_000 });

const program = path.join(bin, 'rota-throttle');
const run = (...argv: string[]) => spawnSync(program, argv, { encoding: 'utf8', timeout: 30_000 });
const REPORT = /^throttle: stopped (\d+) times, ([\d.]+) of ([\d.]+) s: ran ([\d.]+) of the time$/m;

/** Reads the clock without end and prints the gaps between two readings, in milliseconds. */
const WATCH = `
  const gaps = [];
  for (let last = performance.now(), end = last + 2000; last < end; ) {
    const now = performance.now();
    if (now - last > 2.5) gaps.push(now - last);
    last = now;
  }
  console.log(JSON.stringify(gaps));
`;

describe('rota-throttle', () => {
  test('stands still for the stated time after each stretch of running, and tells how often', () => {
    const { stdout, stderr, status } = run('12:3', '--', process.execPath, '-e', WATCH);
    expect(status).toBe(0);
    const gaps: number[] = JSON.parse(stdout);
    const [stops = 0, stopped = 0, total = 0, ran = 0] = (REPORT.exec(stderr) ?? []).slice(1).map(Number);
    // Two seconds and the start of Node hold 130 turns of 15 ms; a busy machine makes turns longer, never shorter.
    expect(stops).toBeGreaterThan(50);
    expect(stops).toBeLessThanOrEqual(Math.ceil(total / 0.015));
    expect(stopped).toBeGreaterThanOrEqual(stops * 0.003);
    expect(ran).toBeCloseTo(1 - stopped / total, 3);
    expect(ran).toBeLessThanOrEqual(0.801);
    // Each stop is a gap that the program sees; where it got no core between two, they are one.
    expect(gaps.length).toBeGreaterThan(0.6 * (stops - (total - 2) / 0.015));
    expect(gaps.reduce((sum, gap) => sum + gap, 0)).toBeGreaterThan(0.15 * 2000);
  });

  test('ends as the program does', () => {
    expect(run('20:1', '--', 'sh', '-c', 'exit 7').status).toBe(7);
    expect(run('20:1', '--', 'sh', '-c', 'kill -KILL $$').signal).toBe('SIGKILL');
    expect(run('20:1', '--', 'cat').status).toBe(0);
  });

  test('passes SIGTERM on to a program that stands still', async () => {
    const script = 'trap "echo bye; exit 5" TERM; echo on; while :; do sleep 0.01; done';
    const child = spawn(program, ['300:60000', '--', 'sh', '-c', script]);
    let said = '';
    child.stdout.on('data', (chunk) => (said += chunk));
    const ended = once(child, 'close');
    await until(() => isStopped(child.pid));
    expect(isStopped(child.pid)).toBe(true);
    child.kill('SIGTERM');
    expect((await ended)[0]).toBe(5);
    expect(said).toBe('on\nbye\n');
  });

  test('takes the program along when it is killed, though that stands still', async () => {
    const child = spawn(program, ['50:60000', '--', 'sleep', '100'], { stdio: 'ignore' });
    await until(() => isStopped(child.pid));
    const [pid] = childrenOf(child.pid);
    expect(stateOf(pid)).toBe('T');
    child.kill('SIGKILL');
    const isGone = (): boolean => [null, 'Z', 'X'].includes(stateOf(pid));
    await until(isGone);
    expect(isGone()).toBe(true);
  });

  test('refuses with one line', () => {
    const said = [
      ['20', '--', 'x'],
      ['20:0', '--', 'x'],
      ['20:1', 'x'],
      [],
      ['20:1', '--', '/no/such/program'],
    ];
    expect(
      said.map((argv) => run(...argv)).map(({ status, stderr }) => `${status}: ${stderr}`),
    ).toMatchInlineSnapshot(`
      [
        "2: rota-throttle: '20' is no RUN:STOP in milliseconds, such as 20:1; each is more than 0 and at most 60000
      ",
        "2: rota-throttle: '20:0' is no RUN:STOP in milliseconds, such as 20:1; each is more than 0 and at most 60000
      ",
        "2: rota-throttle: expected RUN:STOP -- COMMAND...; see rota-throttle --help
      ",
        "2: rota-throttle: expected RUN:STOP -- COMMAND...; see rota-throttle --help
      ",
        "3: rota-throttle: cannot start /no/such/program: No such file or directory
      ",
      ]
    `);
    expect(run('--help').stdout).toContain('rota-throttle 20:1 -- rota-strata');
  });
});

const until = (isSo: () => boolean) => vi.waitUntil(isSo, { timeout: 20_000, interval: 20 });

function childrenOf(pid: number | undefined): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  return stdout.split('\n').filter(Boolean).map(Number);
}

function stateOf(pid: number | undefined): string | null {
  try {
    return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? null;
  } catch {
    return null;
  }
}

const isStopped = (pid: number | undefined): boolean => stateOf(childrenOf(pid)[0]) === 'T';

describe('knob: throttle', () => {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());

  test('the engine is stopped again and again, and its tokens, logits and counters stay', async () => {
    const model = synthesise(folder.path, 'mini-s');
    const body = { op: 'generate', prompt: [1, 5, 9, 2], max_new: 48, temperature: 0, ignore_eos: true };
    const seen = [];
    for (const prefix of [[], [program, '5:5', '--']]) {
      const { engine } = await Strata.start(['--model', model, '--slots', '25%'], {}, prefix);
      await using _ = engine;
      const { ids, digest, counters } = await engine.generate(body);
      const { passes, hit, cpu, file } = counters;
      seen.push({ ids, digest, passes, hit, cpu, file });
      engine.child.stdin.end();
      const { stderr } = await engine.exited;
      const stops = Number(REPORT.exec(stderr)?.[1] ?? 0);
      expect(stops > 0).toBe(prefix.length > 0);
    }
    expect(seen[1]).toEqual(seen[0]);
  });
});
