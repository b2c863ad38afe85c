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
  /** Its place among the starts of all runs. */
  readonly started: number;
  readonly ready: EngineReady | null;
  readonly loadMs: number | null;
  readonly warmup: Of<'warmup_end'> | null;
  /** Windows of all kinds in the order in which they ran. */
  readonly windows: readonly Window[];
  readonly scores: readonly Of<'score'>[];
  /** The calibration loop around it. Null: not in the record. */
  readonly before: Of<'calibration'> | null;
  readonly after: Of<'calibration'> | null;
  /** Null: the record breaks off, so the run is void. */
  readonly end: Of<'run_end'> | null;
  /** Others disturbed a run of its block afterwards or this one: the block was measured again, and it does not count. */
  readonly spoilt: boolean;
}

export interface Replay {
  /**
   * In the order of the plan, without what a decision made superfluous; the latest attempt that ended well, in a try of its block that
   * was not spoilt, is the run.
   */
  readonly runs: readonly {
    readonly planned: PlannedRun;
    readonly attempts: readonly Attempt[];
    readonly ok: Attempt | null;
  }[];
  /** Tries of blocks that others spoilt, in the order of time. */
  readonly spoilt: readonly Of<'block_spoilt'>[];
  /** Of spoilt tries as well: what the baseline thinks of a token is no matter of time. */
  readonly gaps: readonly Of<'gap'>[];
  readonly ceilings: readonly Of<'ceiling'>[];
  readonly sessions: readonly Of<'session'>[];
}

type Draft = { -readonly [K in keyof Attempt]: Attempt[K] } & { windows: Window[]; scores: Of<'score'>[] };

function newDraft(planned: PlannedRun, started: number): Draft {
  return {
    planned,
    before: null,
    after: null,
    started,
    ready: null,
    loadMs: null,
    warmup: null,
    windows: [],
    scores: [],
    end: null,
    spoilt: false,
  };
}

export function decisionsOf(events: readonly JournalEvent[]): Decision[] {
  return events.flatMap((event) => (event.type === 'decision' ? [event.decision] : []));
}

/** How many tries of a block others have spoilt so far, in all sessions. */
export function spoiltTries(events: readonly JournalEvent[], block: number): number {
  return events.filter((event) => event.type === 'block_spoilt' && event.block === block).length;
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

type RunEvent = Of<'ready' | 'warmup_end' | 'window' | 'score' | 'calibration' | 'run_end'>;

function add(draft: Draft, event: RunEvent): void {
  switch (event.type) {
    case 'ready':
      draft.ready = event.ready;
      draft.loadMs = event.loadMs;
      break;
    case 'warmup_end':
      draft.warmup = event;
      break;
    case 'window':
      draft.windows.push(event);
      break;
    case 'score':
      draft.scores.push(event);
      break;
    case 'calibration':
      draft.after = event;
      break;
    case 'run_end':
      draft.end = event;
      break;
  }
}

function spoil(started: readonly Draft[], event: Of<'block_spoilt'>): void {
  for (const draft of started) if (draft.planned.block === event.block) draft.spoilt = true;
}

function outcomeOf(planned: PlannedRun, attempts: readonly Attempt[]): Replay['runs'][number] {
  const ok = attempts.findLast(({ end, spoilt }) => end?.status === 'ok' && !spoilt) ?? null;
  return { planned, attempts, ok };
}

/** Of every run that has one the attempt that counts, in the order of the plan. */
export function goodAttempts({ runs }: Pick<Replay, 'runs'>): Attempt[] {
  return runs.flatMap(({ ok }) => (ok === null ? [] : [ok]));
}

/** Its windows that are measured, in the order in which they ran. */
export function measuredWindows({ windows }: Attempt): Window[] {
  return windows.filter(({ kind }) => kind === 'measure');
}

/** Throws InvalidRecordError when the journal speaks of runs that were not planned or had not started. */
export function replay(plan: Plan, events: readonly JournalEvent[]): Replay {
  const attempts = new Map<string, Draft[]>(plan.runs.map((run) => [run.id, []]));
  const planned = new Map(plan.runs.map((run) => [run.id, run]));
  const open = new Map<string, Draft>();
  /** Before a run that has not started yet. */
  let calibrated: Of<'calibration'> | null = null;
  let starts = 0;
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
        const draft = newDraft(run, starts++);
        draft.before = calibrated;
        calibrated = null;
        attempts.get(event.run)?.push(draft);
        open.set(event.run, draft);
        break;
      }
      case 'ready':
      case 'warmup_end':
      case 'window':
      case 'score':
        add(started(event), event);
        break;
      case 'run_end':
        add(started(event), event);
        open.delete(event.run);
        break;
      case 'session':
        // What an earlier session left open was killed with it.
        open.clear();
        break;
      case 'calibration':
        if (event.when === 'before') calibrated = event;
        else add(started(event), event);
        break;
      case 'block_spoilt':
        spoil([...attempts.values()].flat(), event);
        break;
      case 'background_start':
      case 'background_end':
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
    runs: runsLeftInPlan(plan, events).map((run) => outcomeOf(run, attempts.get(run.id) ?? [])),
    spoilt: events.filter((event) => event.type === 'block_spoilt'),
    gaps: events.filter((event) => event.type === 'gap'),
    ceilings: events.filter((event) => event.type === 'ceiling'),
    sessions: events.filter((event) => event.type === 'session'),
  };
}
