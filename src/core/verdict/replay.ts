// The journal read back: what became of every planned run. Knows the order of events, not what they mean for an arm.

import { InvalidRecordError } from '../errors.ts';
import type { EngineReady } from '../records/answer.ts';
import type { Decision, JournalEvent } from '../records/journal.ts';
import type { Plan, PlannedRun } from '../records/plan.ts';

export type Window = Extract<JournalEvent, { type: 'window' }>;
type Of<T extends JournalEvent['type']> = Extract<JournalEvent, { type: T }>;

/** One start of an engine for a planned run. */
export interface Attempt {
  readonly planned: PlannedRun;
  readonly ready: EngineReady | null;
  readonly loadMs: number | null;
  readonly warmup: Of<'warmup_end'> | null;
  /** Windows of all kinds in the order in which they ran. */
  readonly windows: readonly Window[];
  readonly scores: readonly Of<'score'>[];
  /** Null: the record breaks off, so the run is void. */
  readonly end: Of<'run_end'> | null;
}

export interface Replay {
  /** In the order of the plan, without what a decision made superfluous; the latest attempt that ended well is the run. */
  readonly runs: readonly {
    readonly planned: PlannedRun;
    readonly attempts: readonly Attempt[];
    readonly ok: Attempt | null;
  }[];
  readonly gaps: readonly Of<'gap'>[];
  readonly ceilings: readonly Of<'ceiling'>[];
  readonly sessions: readonly Of<'session'>[];
}

type Draft = { -readonly [K in keyof Attempt]: Attempt[K] } & { windows: Window[]; scores: Of<'score'>[] };

function newDraft(planned: PlannedRun): Draft {
  return { planned, ready: null, loadMs: null, warmup: null, windows: [], scores: [], end: null };
}

export function decisionsOf(events: readonly JournalEvent[]): Decision[] {
  return events.flatMap((event) => (event.type === 'decision' ? [event.decision] : []));
}

/** The runs of the plan without those that a decision made superfluous. */
export function runsLeftInPlan(plan: Plan, events: readonly JournalEvent[]): PlannedRun[] {
  const decisions = decisionsOf(events);
  return plan.runs.filter(
    (run) =>
      !decisions.some(
        ({ afterBlock, stop, leftOut }) => run.block > afterBlock && (stop || leftOut.includes(run.arm)),
      ),
  );
}

/** Throws InvalidRecordError when the journal speaks of runs that were not planned or had not started. */
export function replay(plan: Plan, events: readonly JournalEvent[]): Replay {
  const attempts = new Map<string, Draft[]>(plan.runs.map((run) => [run.id, []]));
  const planned = new Map(plan.runs.map((run) => [run.id, run]));
  const open = new Map<string, Draft>();
  const started = (event: { readonly type: string; readonly run: string }): Draft => {
    const draft = open.get(event.run);
    if (draft === undefined)
      throw new InvalidRecordError(`the journal has a ${event.type} of ${event.run}, which had not started`);
    return draft;
  };
  for (const event of events) {
    switch (event.type) {
      case 'run_start': {
        const run = planned.get(event.run);
        if (run === undefined || run.arm !== event.arm) {
          throw new InvalidRecordError(
            `the journal has a run ${event.run} of arm ${event.arm}, which the plan does not have`,
          );
        }
        const draft = newDraft(run);
        attempts.get(event.run)?.push(draft);
        open.set(event.run, draft);
        break;
      }
      case 'ready': {
        const draft = started(event);
        draft.ready = event.ready;
        draft.loadMs = event.loadMs;
        break;
      }
      case 'warmup_end':
        started(event).warmup = event;
        break;
      case 'window':
        started(event).windows.push(event);
        break;
      case 'score':
        started(event).scores.push(event);
        break;
      case 'run_end':
        started(event).end = event;
        open.delete(event.run);
        break;
      case 'session':
        // What an earlier session left open was killed with it.
        open.clear();
        break;
      case 'gap':
      case 'ceiling':
      case 'interrupted':
      case 'decision':
      case 'aborted':
      case 'session_end':
        break;
    }
  }
  return {
    runs: runsLeftInPlan(plan, events).map((run) => {
      const own = attempts.get(run.id) ?? [];
      return {
        planned: run,
        attempts: own,
        ok: own.findLast((attempt) => attempt.end?.status === 'ok') ?? null,
      };
    }),
    gaps: events.filter((event) => event.type === 'gap'),
    ceilings: events.filter((event) => event.type === 'ceiling'),
    sessions: events.filter((event) => event.type === 'session'),
  };
}
