// The figures of a journal: every run in the order of time with the load beside it, and milliseconds by cause. Owns what is drawn.

import { timing } from '../../core/counters/raw-answer.ts';
import type { JournalEvent } from '../../core/records/journal.ts';
import type { Plan } from '../../core/records/plan.ts';
import { executedOrder } from '../../core/verdict/executed.ts';
import { replay, type Window } from '../../core/verdict/replay.ts';
import { number, share } from '../format.ts';
import { color, figure, key, keyOf, type Part, rect, row, stacked, WIDTH } from './draw.ts';

interface RunFacts {
  readonly id: string;
  readonly arm: string;
  readonly windows: readonly Window[];
}

/** Measured windows of the good runs, in the order in which they ran. */
export function measuredRuns(plan: Plan, events: readonly JournalEvent[]): RunFacts[] {
  const runs = replay(plan, events).runs.flatMap(({ planned, ok }) =>
    ok === null
      ? []
      : [{ id: planned.id, arm: planned.arm, windows: ok.windows.filter(({ kind }) => kind === 'measure') }],
  );
  const order = executedOrder(events);
  return runs.sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id));
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

/** Milliseconds of a pass by what they went to, as far as the engine tells: its expert pool, and the rest. */
export function causes(runs: readonly RunFacts[]): string {
  const names = ['expert pool', 'rest of the pass'];
  const arms = [...new Set(runs.map(({ arm }) => arm))];
  const rows = arms.flatMap((arm) => {
    const windows = runs.filter((run) => run.arm === arm).flatMap((run) => run.windows);
    const passes = sum(windows.map(({ result }) => result.counters.passes));
    const total = sum(windows.map(({ result }) => result.decodeMs));
    if (passes === 0 || total === 0) return [];
    const pools = windows.map(({ result }) => timing(result, 'pool_ms'));
    const pool = pools.includes(null) ? 0 : Math.min(total, sum(pools));
    return [
      {
        arm,
        isKnown: !pools.includes(null),
        parts: [pool, total - pool].map((ms, i): Part => ({ name: names[i] ?? '', value: ms / passes })),
      },
    ];
  });
  if (rows.length === 0) return '';
  const max = Math.max(...rows.map(({ parts }) => sum(parts.map((part) => part.value))));
  const body = rows.map(({ arm, parts, isKnown }) =>
    row(
      arm,
      stacked(parts, max, names),
      `${number(sum(parts.map((part) => part.value)))} ms a pass${isKnown ? `, pool ${number(parts[0]?.value ?? null)}` : '; the engine does not tell its parts'}`,
    ),
  );
  return figure(
    'causes',
    'Milliseconds of a pass by cause',
    'all classes together; decode of the measured windows',
    key(names) + body.join(''),
  );
}

/** Joules a token, from sampled power: an estimate, since a sampler sees only part of the time. Null where nothing was sampled. */
export function joulesPerToken(windows: readonly Window[]): number | null {
  const tokens = sum(windows.map(({ result }) => result.tokens));
  const joules = windows.map(({ load, wallMs }) => {
    const watts = load.gpus?.map((gpu) => gpu.powerWatts) ?? [];
    return watts.length === 0 || watts.includes(null) ? null : (sum(watts) * wallMs) / 1000;
  });
  return tokens === 0 || joules.length === 0 || joules.includes(null) ? null : sum(joules) / tokens;
}
