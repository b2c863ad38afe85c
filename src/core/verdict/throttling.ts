// Whether what throttled the machine, its processor or a GPU, leans to one arm. Counts runs; leaves out nothing.

import type { GpuThrottle } from '../records/journal.ts';
import type { Plan } from '../records/plan.ts';
import type { Lean } from '../records/verdict.ts';
import { fisherExact } from '../stats/fisher.ts';
import { pText } from './lines.ts';
import { type Attempt, measuredWindows } from './replay.ts';

interface Throttle {
  readonly of: Lean['of'];
  readonly what: string;
  /** Null: not known of this run. */
  readonly happened: (attempt: Attempt) => boolean | null;
}

/** A counter of the processor, read around a run. */
function moved(counter: 'thermalThrottles' | 'quotaThrottles'): Throttle['happened'] {
  return ({ before, after }) => {
    const [from, to] = [before?.[counter] ?? null, after?.[counter] ?? null];
    return from === null || to === null ? null : to > from;
  };
}

/** A reason of a GPU, seen in a measured window of a run. */
function seen(reason: GpuThrottle): Throttle['happened'] {
  return (attempt) => {
    const told = measuredWindows(attempt).flatMap(({ load }) =>
      (load.gpus ?? []).flatMap(({ throttles }) => (throttles === undefined ? [] : [throttles])),
    );
    return told.length === 0 ? null : told.some((reasons) => reasons.includes(reason));
  };
}

const GPU_WORDS: Readonly<Record<GpuThrottle, string>> = {
  'power cap': 'the GPU was held to its power limit',
  'hardware slowdown': 'the hardware slowed the GPU down',
  'sync boost': 'the GPU was held to the clocks of its group',
  'software thermal slowdown': 'the GPU was too hot for its clocks',
  'hardware thermal slowdown': 'the GPU was so hot that its hardware slowed it down',
  'power brake': 'the power supply braked the GPU',
};

const THROTTLES: readonly Throttle[] = [
  {
    of: 'thermal throttling',
    what: 'the processor was too hot',
    happened: moved('thermalThrottles'),
  },
  { of: 'quota throttling', what: 'the CPU quota was used up', happened: moved('quotaThrottles') },
  ...(Object.keys(GPU_WORDS) as GpuThrottle[]).map((reason) => ({
    of: reason,
    what: GPU_WORDS[reason],
    happened: seen(reason),
  })),
];

/** Loose on purpose: the price of a false one is a sentence. */
const THROTTLE_ALPHA = 0.1;

export function throttleLeans(plan: Plan, attempts: readonly Attempt[]): Lean[] {
  return THROTTLES.flatMap(({ of, what, happened }) =>
    plan.arms.flatMap(({ name }): Lean[] => {
      const own = counted(attempts, happened, ({ planned }) => planned.arm === name);
      const others = counted(attempts, happened, ({ planned }) => planned.arm !== name);
      const p = fisherExact(own.hits, own.runs, others.hits, others.runs);
      const [share, otherShare] = [own.hits / own.runs, others.hits / others.runs];
      if (own.runs === 0 || others.runs === 0 || share <= otherShare || p >= THROTTLE_ALPHA) return [];
      const text = `${what} in ${own.hits} of ${own.runs} runs of ${name} and ${others.hits} of ${others.runs} of the others (${pText(p)}): an effect of ${name}, for which nothing is left out`;
      return [{ arm: name, of, own: share, others: otherShare, p, text }];
    }),
  );
}

/** Runs of which it is known, and those in which it happened. */
function counted(
  attempts: readonly Attempt[],
  happened: Throttle['happened'],
  isOf: (attempt: Attempt) => boolean,
): { readonly hits: number; readonly runs: number } {
  const known = attempts.filter(isOf).flatMap((attempt) => happened(attempt) ?? []);
  return { hits: known.filter((did) => did).length, runs: known.length };
}
