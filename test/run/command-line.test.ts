// The promise as a user meets it: `rota run` is killed in mid-run, nothing is left, and `rota resume` finishes.

import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Bench, createBench, protocol } from '../cli/helpers/rota.ts';

// Starting processes takes many times as long on a machine that compiles beside.
vi.setConfig({ testTimeout: 90_000 });

let bench: Bench;
beforeAll(() => {
  bench = createBench();
});
afterAll(() => bench.remove());

/** Processes that serve the bench's model. */
function engines(): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(`--model\0${bench.folder}`)
      );
    } catch {
      return false;
    }
  });
}

async function until(what: string, isSo: () => boolean, limitMs: number): Promise<void> {
  for (const end = Date.now() + limitMs; !isSo(); ) {
    if (Date.now() > end) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('kill -9 of rota in mid-run leaves no engine after 5 s; resume finishes; every planned run is there once', async () => {
  bench.write(
    'long.yaml',
    protocol({ arms: { base: { play: 'stubborn', rate: 60 }, fast: { play: 'stubborn', rate: 70 } } }),
  );
  const rota = bench.rota('run', 'long.yaml', '--share-machine');
  let told = '';
  rota.stderr.on('data', (chunk: Buffer) => {
    told += chunk.toString('utf8');
  });
  await until(
    'one run is done and the next is on',
    () => told.includes('run 1/4') && engines().length === 1,
    60_000,
  );
  rota.kill('SIGKILL');
  expect((await rota).signal).toBe('SIGKILL');
  await until('no engine is left', () => engines().length === 0, 5000);
  expect((await bench.rota('report', 'latest')).exitCode).toBe(2);
  const resumed = await bench.rota('resume', '--share-machine');
  expect(resumed.exitCode).toBe(0);
  const { stdout } = await bench.rota('report', 'latest', '--recompute', '--json');
  const runs: { id: string; status: string }[] = JSON.parse(stdout).runs;
  expect(runs.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok']);
  expect(new Set(runs.map(({ id }) => id)).size).toBe(4);
});
