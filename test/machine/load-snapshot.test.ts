// Readings of this machine itself: whose work a process is.

import { type ChildProcess, spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { loadBetween } from '../../src/machine/load-between.ts';
import { physicalDisks, readSnapshot } from '../../src/machine/load-snapshot.ts';

const now = (): number => performance.now();

test('a child that burns a core is seen as own, with its thread by name', async () => {
  const child = spawn(process.execPath, ['-e', 'for (const end = Date.now() + 1500; Date.now() < end;);']);
  const { pid } = child;
  if (pid === undefined) throw new Error('no child');
  try {
    await new Promise((resolve) => setTimeout(resolve, 200));
    const scope = { engine: pid, background: null, helpers: [], disks: physicalDisks() };
    const start = readSnapshot(scope, now, 'start');
    await new Promise((resolve) => setTimeout(resolve, 600));
    const load = loadBetween(start, readSnapshot(scope, now, 'end'));
    // Others may share its core: what it got is a good part of one, and all of it is its own.
    expect(load.threadCpuShare?.['node']).toBeGreaterThan(0.2);
    expect(load.ownCpuShare).toBeGreaterThan(0.05);
    expect(load.memAvailableBytes).toBeGreaterThan(0);
  } finally {
    child.kill('SIGKILL');
  }
});

/** Burns a core under a name of its own, in a shell of its own where asked. */
function burner(name: string): ChildProcess {
  const burn = `process.title = '${name}'; for (const end = Date.now() + 20_000; Date.now() < end;);`;
  return spawn(process.execPath, ['-e', burn], { detached: true, stdio: 'ignore' });
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('three programs that burn: one is the engine, one the background, and only the third is foreign and named', async () => {
  const [engine, background, foreign] = ['rota-own', 'rota-beside', 'rota-foreign'].map(burner);
  const all = [engine, background, foreign];
  try {
    await pause(400);
    const scope = {
      engine: engine?.pid ?? null,
      background: background?.pid ?? null,
      helpers: [],
      disks: physicalDisks(),
    };
    const start = readSnapshot(scope, now, 'start');
    await pause(1000);
    const end = readSnapshot(scope, now, 'end');
    expect(all.map((child) => end.processes.get(child?.pid ?? 0)?.owner)).toEqual([
      'own',
      'background',
      'foreign',
    ]);
    const load = loadBetween(start, end);
    const cores = load.cores ?? 0;
    // Three share the cores with whatever else runs here: each got something, and no two are counted together.
    for (const share of [load.ownCpuShare, load.backgroundCpuShare, load.foreignCpuShare])
      expect(share).toBeGreaterThan(0.05 / cores);
    const named = load.foreignPrograms?.map(({ name }) => name) ?? [];
    expect(named).not.toContain('rota-own');
    expect(named).not.toContain('rota-beside');
    const ticks = (child: ChildProcess | undefined, at: typeof end) =>
      at.processes.get(child?.pid ?? 0)?.ticks ?? 0;
    const used = (child: ChildProcess | undefined) => ticks(child, end) - ticks(child, start);
    const total = (end.cpu?.total ?? 0) - (start.cpu?.total ?? 0);
    expect(load.backgroundCpuShare).toBeCloseTo(used(background) / total, 6);
    expect(load.foreignCpuShare).toBeGreaterThanOrEqual((0.8 * used(foreign)) / total);
  } finally {
    for (const child of all) child?.kill('SIGKILL');
  }
});
