// One Rota a machine: the second is told who the first is, and a dead one is in nobody's way.

import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/machine/clock.ts';
import { lockHolders, lockMachine } from '../../src/machine/lock.ts';
import { identify, type ProcessId } from '../../src/machine/processes.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';

const options = {
  clock: systemClock,
  command: 'rota run x.yaml',
  folder: '/results/mine',
  utc: '2026-01-01T00:00:00.000Z',
  guard: null,
  share: false,
};

function sleeper(): Disposable & { readonly id: ProcessId; readonly child: ChildProcess } {
  const child = spawn('sleep', ['60']);
  const id = identify(child.pid ?? 0);
  if (id === null) throw new Error('no child');
  return { id, child, [Symbol.dispose]: () => void child.kill('SIGKILL') };
}

/** A lock as another Rota would have left it. */
function plant(folder: string, process: ProcessId, more: object = {}): void {
  const bootId = lockOf(folder);
  const holder = {
    process,
    guard: null,
    bootId,
    command: 'rota resume y',
    folder: '/results/other',
    utc: 'then',
    ...more,
  };
  writeFileSync(path.join(folder, `rota-machine-0-${process.pid}.lock`), JSON.stringify(holder));
}

/** The boot id, as a lock of this boot has it. */
function lockOf(folder: string): string {
  const [holder] = lockHolders(folder);
  if (holder === undefined) throw new Error('take a lock first');
  return holder.bootId;
}

test('a lock says who holds it, and is gone afterwards', async () => {
  using folder = temporaryFolder();
  const lock = await lockMachine({ ...options, lockFolder: folder.path });
  expect(lockHolders(folder.path)).toMatchObject([
    { process: { pid: process.pid }, command: 'rota run x.yaml' },
  ]);
  lock[Symbol.dispose]();
  expect(readdirSync(folder.path)).toEqual([]);
});

test('another that is alive is named, and the own lock is withdrawn', async () => {
  using folder = temporaryFolder();
  using other = sleeper();
  {
    using _mine = await lockMachine({ ...options, lockFolder: folder.path });
    plant(folder.path, other.id);
  }
  await expect(lockMachine({ ...options, lockFolder: folder.path })).rejects.toThrow(
    `another rota measures on this machine: pid ${other.id.pid} since then: rota resume y (run folder /results/other); wait for it, or pass --share-machine`,
  );
  expect(readdirSync(folder.path)).toHaveLength(1);
  using _shared = await lockMachine({ ...options, share: true, lockFolder: folder.path });
  expect(lockHolders(folder.path)).toHaveLength(2);
});

test('sharing the machine is not sharing a run folder', async () => {
  using folder = temporaryFolder();
  using other = sleeper();
  {
    using _mine = await lockMachine({ ...options, lockFolder: folder.path });
    plant(folder.path, other.id, { folder: '/results/mine' });
  }
  await expect(lockMachine({ ...options, share: true, lockFolder: folder.path })).rejects.toThrow(
    'another rota',
  );
});

test.each([
  ['a pid that is another process now', { startTicks: 1 }, {}],
  ['another boot', {}, { bootId: 'last week' }],
  ['no process', { pid: 4_000_000 }, {}],
])('a stale lock is taken away: %s', async (_, id, more) => {
  using folder = temporaryFolder();
  using other = sleeper();
  {
    using _mine = await lockMachine({ ...options, lockFolder: folder.path });
    plant(folder.path, { ...other.id, ...id }, more);
    writeFileSync(path.join(folder.path, 'rota-machine-0-1.lock'), 'not a lock');
  }
  using _lock = await lockMachine({ ...options, lockFolder: folder.path });
  expect(readdirSync(folder.path).sort()).toHaveLength(2);
  expect(lockHolders(folder.path)).toHaveLength(1);
});

test('a dead one whose guard still cleans up is waited for', async () => {
  using folder = temporaryFolder();
  using guard = sleeper();
  {
    using _mine = await lockMachine({ ...options, lockFolder: folder.path });
    plant(folder.path, { pid: 4_000_000, startTicks: 1 }, { guard: guard.id });
  }
  const begin = performance.now();
  setTimeout(() => guard.child.kill('SIGKILL'), 300);
  using _lock = await lockMachine({ ...options, lockFolder: folder.path });
  expect(performance.now() - begin).toBeGreaterThan(250);
});

test('an interrupt ends that wait, and withdraws the own lock', async () => {
  using folder = temporaryFolder();
  using guard = sleeper();
  {
    using _mine = await lockMachine({ ...options, lockFolder: folder.path });
    plant(folder.path, { pid: 4_000_000, startTicks: 1 }, { guard: guard.id });
  }
  const interrupt = new AbortController();
  setTimeout(() => interrupt.abort(new Error('stop now')), 150);
  const waiting = lockMachine({ ...options, lockFolder: folder.path, signal: interrupt.signal });
  await expect(waiting).rejects.toThrow('stop now');
  expect(readdirSync(folder.path)).toEqual(['rota-machine-0-4000000.lock']);
}, 10_000);
