// SIGTERM in every phase of a session of the real command line: what was finished stays, no engine does, and a resume does the rest.
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { suffering } from '../native/helpers/faults.ts';
import { type Bench, createBench, protocol } from './helpers/rota.ts';
import { expectClean, hasOpen, journalNow, signalled } from './helpers/signalled.ts';

// Starting processes takes many times as long on a machine that compiles beside.
vi.setConfig({ testTimeout: 120_000 });

const SHARE = '--share-machine';

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

const wrote = (pattern: RegExp) => (): boolean => pattern.test(journalNow(bench));

const SLOW = { base: { play: 'slow-start', rate: 40 }, fast: { play: 'slow-start', rate: 50 } };
const STUBBORN = { base: { play: 'stubborn', rate: 900 }, fast: { play: 'stubborn', rate: 950 } };

describe('a session', () => {
  it.each([
    ['before its first run', SLOW, wrote(/"type":"session"/)],
    ['while an engine loads', SLOW, wrote(/"type":"run_start"/)],
    ['in a warm-up window', SLOW, wrote(/"kind":"warmup"/)],
    ['in a prime window', SLOW, wrote(/"type":"warmup_end"/)],
    ['in a measured window', SLOW, wrote(/"kind":"prime"/)],
    ['while an engine is stopped', STUBBORN, wrote(/"kind":"measure"/)],
    ['between two runs', SLOW, wrote(/"type":"run_end"/)],
  ])('that gets SIGTERM %s keeps what was finished and is resumed', async (_, arms, isInPhase) => {
    bench.write('slow.yaml', protocol({ name: 'slow', arms, blocks: 1 }));
    const running = bench.rota('run', 'slow.yaml', SHARE);
    const ended = await signalled(bench.folder, running, 'SIGTERM', isInPhase);
    expectClean(bench, ended, 'SIGTERM');
    expect(ended.stderr).toMatch(
      /^interrupted; every finished run is kept\. Go on with:\n {2}rota resume \S+-slow-\w+$/m,
    );
    expect(existsSync(path.join(tmpdir(), `rota-machine-${process.getuid?.()}-${running.pid}.lock`))).toBe(
      false,
    );
    const finished = journalNow(bench).match(/"status":"ok"/g)?.length ?? 0;
    const resumed = await bench.rota('resume', 'latest', SHARE);
    expect([resumed.exitCode, resumed.stderr]).toEqual([
      0,
      expect.stringContaining(`${2 - finished} of 2 runs are left`),
    ]);
    expect(journalNow(bench).match(/"status":"ok"/g)).toHaveLength(2);
  });

  it('that gets SIGTERM while it makes its verdict leaves a record that is reported', async () => {
    const env = suffering(['slow', { path: 'journal.jsonl', ms: 1500 }]);
    const running = bench.rotaWith(env, 'run', 'tiny.yaml', SHARE);
    const ended = await signalled(bench.folder, running, 'SIGTERM', wrote(/"type":"session_end"/));
    expectClean(bench, ended, 'SIGTERM');
    expect(ended.stderr).toMatch(/^rota: interrupted by SIGTERM; go on with: rota resume \S+-tiny-\w+$/m);
    expect((await bench.rota('resume', 'latest', SHARE)).exitCode).toBe(0);
    expect((await bench.rota('report', 'latest', '--recompute')).exitCode).toBe(0);
  });

  it('that gets SIGTERM while its prompts are made into ids is resumed', async () => {
    const env = suffering(['slow', { path: 'model.gguf', ms: 400 }]);
    const running = bench.rotaWith(env, 'run', 'tiny.yaml', SHARE);
    const begun = (): boolean => existsSync(bench.path('results')) && hasOpen(running.pid, 'model.gguf');
    const ended = await signalled(bench.folder, running, 'SIGTERM', begun);
    expectClean(bench, ended, 'SIGTERM');
    expect(ended.stderr).toMatch(/interrupted.*\s+.*rota resume \S+-tiny-\w+$/);
    expect((await bench.rota('resume', 'latest', SHARE)).exitCode).toBe(0);
  });
});
