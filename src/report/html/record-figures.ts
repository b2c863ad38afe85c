// The figure of a journal: every run in the order of time with the load beside it. Owns what is drawn.

import type { JournalEvent } from '../../core/records/journal.ts';
import type { Plan } from '../../core/records/plan.ts';
import { goodAttempts, measuredWindows, replay, type Window } from '../../core/verdict/replay.ts';
import { number, share } from '../format.ts';
import { color, figure, keyOf, rect, row, WIDTH } from './draw.ts';

interface RunFacts {
  readonly id: string;
  readonly arm: string;
  readonly windows: readonly Window[];
}

/** Measured windows of the good runs, in the order in which they ran. */
export function measuredRuns(plan: Plan, events: readonly JournalEvent[]): RunFacts[] {
  return goodAttempts(replay(plan, events))
    .sort((a, b) => a.started - b.started)
    .map((attempt) => {
      const { id, arm } = attempt.planned;
      return { id, arm, windows: measuredWindows(attempt) };
    });
}

const sum = (values: readonly (number | null)[]): number =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0);

const mean = (values: readonly (number | null)[]): number | null => {
  const known = values.filter((value): value is number => value !== null);
  return known.length === 0 ? null : sum(known) / known.length;
};

function rateOf(windows: readonly Window[]): number | null {
  const ms = sum(windows.map(({ result }) => result.decodeMs));
  const tokens = sum(windows.map(({ result }) => Math.max(0, result.tokens - 1)));
  return ms > 0 ? (1000 * tokens) / ms : null;
}

const KEY = { 'tok/s': color(0), 'own load': color(5), 'load of others': color(3) };

/** Above, tok/s of all its windows; below, the load of the machine in them: its own, and that of others. */
export function timeline(runs: readonly RunFacts[]): string {
  const max = Math.max(0, ...runs.map(({ windows }) => rateOf(windows) ?? 0));
  const body = runs.map(({ id, windows }) => {
    const rate = rateOf(windows);
    const own = mean(windows.map(({ load }) => load.ownCpuShare));
    const foreign = mean(windows.map(({ load }) => load.foreignCpuShare));
    const flags = new Set(windows.flatMap((window) => window.flags));
    const shapes = [
      rect(0, 2, max > 0 ? (WIDTH * (rate ?? 0)) / max : 0, 11, KEY['tok/s'], `${number(rate)} tok/s`),
      rect(0, 15, WIDTH * (own ?? 0), 5, KEY['own load'], `own ${share(own)}`),
      rect(
        WIDTH * (own ?? 0),
        15,
        WIDTH * (foreign ?? 0),
        5,
        KEY['load of others'],
        `others ${share(foreign)}`,
      ),
    ];
    const flagged = flags.size === 0 ? '' : ` ⚑ ${[...flags].join(', ')}`;
    return row(
      id,
      shapes,
      `${number(rate)} tok/s; load ${share(own)} own, ${share(foreign)} others${flagged}`,
    );
  });
  return figure(
    'timeline',
    'Every run in the order of time',
    'the load is of all cores, over the measured windows of the run',
    keyOf(KEY) + body.join(''),
  );
}
