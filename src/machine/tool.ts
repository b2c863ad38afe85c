// Owns the end of a tool that Rota waits for: when it is told to, the tool and all that it started end, and then the wait does.
// An engine is no tool: it has a guard. Knows no tool by name.

import { systemClock } from './clock.ts';
import { familyOf, identify, isAlive, type ProcessId } from './processes.ts';

/** A compiler removes what it has half written; one that takes longer is killed. */
const TERM_TO_KILL_MS = 2000;
const POLL_MS = 20;

function signalEach(processes: readonly ProcessId[], signal: NodeJS.Signals): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, signal);
    } catch {
      // Ended by itself between the look and the signal.
    }
  }
}

/** Returns when the process and everything below it are gone. Those that ignore SIGTERM are killed. */
async function endFamily(pid: number): Promise<void> {
  // Now: once a parent is gone nothing tells whose child the rest was.
  const family = familyOf(pid).flatMap((each) => identify(each) ?? []);
  signalEach(family, 'SIGTERM');
  const begin = systemClock.monotonicMs();
  for (;;) {
    const left = family.filter(isAlive);
    if (left.length === 0) return;
    if (systemClock.monotonicMs() - begin > TERM_TO_KILL_MS) signalEach(left, 'SIGKILL');
    await systemClock.sleep(POLL_MS);
  }
}

/** What the tool gave; rejects with the signal's reason, after the tool has ended, when that fires first. */
export async function endedBy<T>(
  signal: AbortSignal | undefined,
  tool: PromiseLike<T> & { readonly pid?: number | undefined },
): Promise<T> {
  let ending = Promise.resolve();
  const end = (): void => {
    if (tool.pid !== undefined) ending = endFamily(tool.pid);
  };
  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted) end();
  try {
    return await tool;
  } finally {
    signal?.removeEventListener('abort', end);
    await ending;
    signal?.throwIfAborted();
  }
}
