// Owns the rotation itself: every planned run of every block once, failures again at the end of their block, and when to give up an arm.

import type { Plan, PlannedRun } from '../core/records/plan.ts';
import { replay } from '../core/verdict/replay.ts';
import type { SessionContext } from './context.ts';
import type { Interrupted } from './interrupts.ts';
import { runOnce } from './one-run.ts';

/** A run that failed is repeated whole, once, close to its block. */
const ATTEMPTS = 2;

export type BlocksOutcome =
  | { readonly status: 'finished' }
  | { readonly status: 'interrupted'; readonly interrupted: Interrupted };

export function runsDone(plan: Plan, events: SessionContext['journal']['events']): Set<string> {
  return new Set(replay(plan, events).runs.flatMap((run) => (run.ok === null ? [] : [run.planned.id])));
}

interface Tally {
  /** Arms that have given at least one good run, ever. */
  readonly proven: Set<string>;
  /** Arms that failed every attempt at a run in this session and never gave a good one. */
  readonly hopeless: Set<string>;
  readonly starts: Map<string, number>;
}

function tallyOf(context: SessionContext, done: ReadonlySet<string>): Tally {
  const starts = new Map<string, number>();
  for (const event of context.journal.events) {
    if (event.type === 'run_start') starts.set(event.run, (starts.get(event.run) ?? 0) + 1);
  }
  const proven = new Set(context.plan.runs.filter((run) => done.has(run.id)).map((run) => run.arm));
  return { proven, hopeless: new Set(), starts };
}

async function attempt(context: SessionContext, run: PlannedRun, tally: Tally): ReturnType<typeof runOnce> {
  const number = (tally.starts.get(run.id) ?? 0) + 1;
  tally.starts.set(run.id, number);
  const outcome = await runOnce(context, run, number);
  if (outcome.status === 'ok') tally.proven.add(run.arm);
  if (outcome.status === 'void')
    context.progress.tell('stop', { note: `${run.id} is void: ${outcome.reason}` });
  return outcome;
}

/**
 * One block: its runs in the planned order, then those that failed once more. An arm that fails twice without ever having run
 * is not started again in this session: its runs stay missing, the others go on, and a resume tries it anew.
 */
async function runBlock(
  context: SessionContext,
  runs: readonly PlannedRun[],
  tally: Tally,
): Promise<BlocksOutcome> {
  let todo = runs;
  for (let round = 1; round <= ATTEMPTS && todo.length > 0; round++) {
    const failed: PlannedRun[] = [];
    for (const run of todo) {
      if (tally.hopeless.has(run.arm)) continue;
      const outcome = await attempt(context, run, tally);
      if (outcome.status === 'interrupted') return outcome;
      if (outcome.status === 'void') failed.push(run);
    }
    todo = failed;
  }
  for (const run of todo) {
    if (tally.proven.has(run.arm)) continue;
    tally.hopeless.add(run.arm);
    context.progress.giveUp(run.arm);
    context.progress.tell('stop', {
      note: `${run.arm} failed ${ATTEMPTS} times: it is left out from here on`,
    });
  }
  return { status: 'finished' };
}

export async function runBlocks(context: SessionContext): Promise<BlocksOutcome> {
  const { plan, journal } = context;
  const done = runsDone(plan, journal.events);
  const tally = tallyOf(context, done);
  for (let block = 1; block <= plan.blocks; block++) {
    const missing = plan.runs.filter((run) => run.block === block && !done.has(run.id));
    const outcome = await runBlock(context, missing, tally);
    if (outcome.status === 'interrupted') return outcome;
  }
  return { status: 'finished' };
}
