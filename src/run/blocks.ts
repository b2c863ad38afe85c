// Owns the rotation itself: every planned run of every block once, what failed again at the end of its block, a block that others
// spoilt again as a whole, and when to give up an arm or the session.

import { rerunsOf } from '../core/design/guard.ts';
import type { Plan, PlannedRun } from '../core/records/plan.ts';
import { decisionAfter } from '../core/verdict/decide.ts';
import { leftOutArms } from '../core/verdict/looks.ts';
import { decisionsOf, goodAttempts, replay, runsLeftInPlan, spoiltTries } from '../core/verdict/replay.ts';
import { utcOf } from '../machine/clock.ts';
import type { SessionContext } from './context.ts';
import type { Interrupted } from './interrupts.ts';
import { runOnce } from './one-run.ts';

/** A run that failed is repeated whole, once, close to its block. */
const ATTEMPTS = 2;

export type BlocksOutcome =
  | { readonly status: 'finished' }
  /** The guard ended it, as the protocol wants. */
  | { readonly status: 'aborted'; readonly reason: string }
  | { readonly status: 'interrupted'; readonly interrupted: Interrupted };

export function runsDone(plan: Plan, events: SessionContext['journal']['events']): Set<string> {
  return new Set(goodAttempts(replay(plan, events)).map(({ planned }) => planned.id));
}

interface Tally {
  /** Arms that have given at least one good run, ever. */
  readonly proven: Set<string>;
  /** Arms that failed every attempt at a run in this session and never gave a good one. */
  readonly hopeless: Set<string>;
  readonly starts: Map<string, number>;
}

function countOne(counts: Map<string, number>, run: string): void {
  counts.set(run, (counts.get(run) ?? 0) + 1);
}

function tallyOf(context: SessionContext, done: ReadonlySet<string>): Tally {
  const starts = new Map<string, number>();
  for (const event of context.journal.events) {
    if (event.type === 'run_start') countOne(starts, event.run);
  }
  const proven = new Set(context.plan.runs.filter((run) => done.has(run.id)).map((run) => run.arm));
  return { proven, hopeless: new Set(), starts };
}

/** By the plan and by how often others spoilt this block, in all sessions; the arm and its rates have no say. */
function heedsGuard({ plan, journal }: SessionContext, { block }: PlannedRun): boolean {
  switch (plan.guards.onTrip ?? 'flag') {
    case 'flag':
      return false;
    case 'rerun':
      return spoiltTries(journal.events, block) < rerunsOf(plan.guards);
    case 'abort':
      return true;
  }
}

async function attempt(context: SessionContext, run: PlannedRun, tally: Tally): ReturnType<typeof runOnce> {
  countOne(tally.starts, run.id);
  const number = tally.starts.get(run.id) ?? 1;
  const outcome = await runOnce(context, { run, heedsGuard: heedsGuard(context, run) }, number);
  if (outcome.status === 'ok') tally.proven.add(run.arm);
  if (outcome.status === 'void')
    context.progress.tell('stop', { note: `${run.id} is void: ${outcome.reason}` });
  if (outcome.status === 'tripped')
    context.progress.tell('stop', { note: `${run.id} was disturbed: ${outcome.reason}` });
  return outcome;
}

/** What is left of a block, and all of it again for as long as others spoil it and the guard may ask for that. */
async function runBlock(context: SessionContext, block: number, tally: Tally): Promise<BlocksOutcome> {
  const { plan, journal, progress } = context;
  const runsToDo = (): PlannedRun[] => {
    const done = runsDone(plan, journal.events);
    return runsLeftInPlan(plan, journal.events).filter((run) => run.block === block && !done.has(run.id));
  };
  for (;;) {
    const outcome = await tryBlock(context, runsToDo(), tally);
    if (outcome.status !== 'spoilt') return outcome;
    progress.again(runsToDo());
    progress.tell('stop', { note: `block ${block} is measured again, whole` });
  }
}

/**
 * One try at a block: its runs in the planned order, then those that failed once more. An arm that fails twice without ever having run
 * is not started again in this session: its runs stay missing, the others go on, and a resume tries it anew.
 */
async function tryBlock(
  context: SessionContext,
  runs: readonly PlannedRun[],
  tally: Tally,
): Promise<BlocksOutcome | { readonly status: 'spoilt' }> {
  const failures = new Map<string, number>();
  const spoiltBefore = spoiltTries(context.journal.events, runs[0]?.block ?? 0);
  for (let todo = runs; todo.length > 0; ) {
    const again: PlannedRun[] = [];
    for (const run of todo) {
      if (tally.hopeless.has(run.arm)) continue;
      // Whatever ended it: a run of this block is measured beside it or not at all.
      await context.background.enter(run.block);
      const outcome = await attempt(context, run, tally);
      if (outcome.status === 'interrupted') return outcome;
      if (outcome.status === 'tripped' && context.plan.guards.onTrip === 'abort')
        return { status: 'aborted', reason: `${outcome.reason} of ${run.id}` };
      // Not by the outcome: a disturbed run whose engine then did not go away is void, and its block is spoilt all the same.
      if (spoiltTries(context.journal.events, run.block) > spoiltBefore) return { status: 'spoilt' };
      if (outcome.status !== 'void') continue;
      countOne(failures, run.id);
      if ((failures.get(run.id) ?? 0) < ATTEMPTS) again.push(run);
    }
    todo = again;
  }
  const lost = runs.filter((run) => (failures.get(run.id) ?? 0) >= ATTEMPTS);
  for (const run of lost) giveUp(context, run, tally);
  return { status: 'finished' };
}

function giveUp(context: SessionContext, run: PlannedRun, tally: Tally): void {
  if (tally.proven.has(run.arm)) return;
  tally.hopeless.add(run.arm);
  context.progress.giveUp(run.arm);
  context.progress.tell('stop', {
    note: `${run.arm} failed ${ATTEMPTS} times: it is left out from here on`,
  });
}

/** A block that a decision made superfluous has no missing runs, and none that was reached in an earlier session is decided again. */
function decide({ plan, journal, clock, progress }: SessionContext, block: number): void {
  const decision = decisionAfter(plan, journal.events, block);
  if (decision === null) return;
  journal.append({ type: 'decision', utc: utcOf(clock), decision });
  journal.sync();
  for (const arm of decision.leftOut) progress.giveUp(arm);
  progress.tell('stop', { note: decision.reason });
}

export async function runBlocks(context: SessionContext): Promise<BlocksOutcome> {
  const { plan, journal } = context;
  const tally = tallyOf(context, runsDone(plan, journal.events));
  // By decisions of an earlier session.
  for (const arm of leftOutArms(decisionsOf(journal.events)).keys()) context.progress.giveUp(arm);
  for (let block = 1; block <= plan.blocks; block++) {
    const outcome = await runBlock(context, block, tally);
    if (outcome.status !== 'finished') return outcome;
    decide(context, block);
  }
  return { status: 'finished' };
}
