// Owns the end of an engine: asked, then told, then killed, and looked after until no process of it is left.

import type { Clock } from '../machine/clock.ts';
import { membersOf } from '../machine/processes.ts';
import type { EngineProcess, Exit } from './launch.ts';

export interface StopReport {
  readonly exit: Exit | null;
  /** The mildest means that ended it. `already`: it had ended before. */
  readonly means: 'already' | 'quit' | 'term' | 'kill';
  /** Processes that outlived the engine itself and had to be ended one by one. */
  readonly stragglers: readonly number[];
  /** Processes that nothing could end. Empty, or the machine is not clean for the next run. */
  readonly left: readonly number[];
}

export interface StopOptions {
  readonly clock: Clock;
  readonly graceMs: number;
  /** Asks it by its own protocol. */
  readonly quit: () => void;
}

const POLL_MS = 20;
/** After SIGKILL a process may still be busy giving back pinned memory. */
const REAP_MS = 15_000;

async function endsWithin(engine: EngineProcess, clock: Clock, ms: number): Promise<boolean> {
  if (engine.exit !== null) return true;
  const timeout = new AbortController();
  const inTime = await Promise.race([
    engine.ended.then(() => true),
    clock.sleep(ms, timeout.signal).then(() => engine.exit !== null),
  ]);
  timeout.abort();
  return inTime;
}

async function endMain(engine: EngineProcess, options: StopOptions): Promise<StopReport['means']> {
  const { clock, graceMs } = options;
  if (engine.exit !== null) return 'already';
  options.quit();
  if (await endsWithin(engine, clock, graceMs)) return 'quit';
  engine.signalGroup('SIGTERM');
  if (await endsWithin(engine, clock, graceMs)) return 'term';
  engine.signalGroup('SIGKILL');
  await endsWithin(engine, clock, REAP_MS);
  return 'kill';
}

function signalEach(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // Ended in between.
    }
  }
}

export async function stopEngine(engine: EngineProcess, options: StopOptions): Promise<StopReport> {
  const { clock } = options;
  const means = await endMain(engine, options);
  const look = (): number[] =>
    membersOf({ group: engine.id.pid, leash: engine.leash.value }).map((stat) => stat.pid);
  // A child that only needs a moment to notice that its parent has gone is no straggler.
  let left = look();
  for (const end = clock.monotonicMs() + 500; left.length > 0 && clock.monotonicMs() < end; left = look()) {
    await clock.sleep(POLL_MS);
  }
  const stragglers = left;
  const begin = clock.monotonicMs();
  while (left.length > 0 && clock.monotonicMs() - begin < REAP_MS) {
    signalEach(left, clock.monotonicMs() - begin < options.graceMs ? 'SIGTERM' : 'SIGKILL');
    await clock.sleep(POLL_MS);
    left = look();
  }
  return { exit: engine.exit, means, stragglers, left };
}
