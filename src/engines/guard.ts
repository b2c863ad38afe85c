// Owns the guard beside a session: a process that ends everything Rota launched once Rota itself is gone. See bin/guard.js.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { identify, LEASH, type ProcessId } from '../machine/processes.ts';
import { findProjectRoot } from './project-root.ts';

export interface Leash {
  readonly value: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface Guard extends AsyncDisposable {
  /** A mark for one launch, to be put in its environment: the guard knows all of a session, and each is told apart. */
  newLeash(): Leash;
  readonly id: ProcessId | null;
  /** A group to end as well: some engines overwrite the memory that their environment is read from. */
  watch(group: number): void;
  forget(group: number): void;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => child.once('exit', resolve));
}

export async function startGuard(): Promise<Guard> {
  const session = randomUUID();
  let launches = 0;
  const program = path.join(findProjectRoot(), 'bin', 'guard.js');
  // In a session of its own: the Ctrl-C of a terminal, or a signal to Rota's group, must not take the guard along.
  const child = spawn(process.execPath, [program, session], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  // A guard that was killed breaks the pipe; that must not take Rota down.
  child.stdin.on('error', () => {});
  child.unref();
  return {
    newLeash() {
      launches += 1;
      const value = `${session}.${launches}`;
      return { value, env: { [LEASH]: value } };
    },
    id: child.pid === undefined ? null : identify(child.pid),
    watch: (group) => void child.stdin.write(`watch ${group}\n`),
    forget: (group) => void child.stdin.write(`forget ${group}\n`),
    async [Symbol.asyncDispose]() {
      // Waited for now: without this nothing else may keep the process alive, and it would end before the wait does.
      child.ref();
      child.stdin.end();
      await ended(child);
    },
  };
}
