// The small model in quarters (slots, arena, file) that the knobs of the tiers are turned on, and what they may not change.

import { expect } from 'vitest';
import {
  type Done,
  generateOnce,
  type Json,
  promptOf,
  type Ready,
  SOURCES,
  type Source,
  type Work,
} from './strata.ts';

export const BODIES: readonly Json[] = [
  { prompt: promptOf(40, 128), max_new: 40 },
  { prompt: promptOf(23, 128, 5), max_new: 30 },
];

export interface Played {
  readonly ready: Ready;
  readonly done: readonly Done[];
}

/** One row a pass. */
export const QUARTERS = ['--ctx', '256', '--slots', '25%', '--arena', '25%', '--depth', '0'];
/** Every pass verifies five drafts, as far as the request still wants tokens. */
export const DRAFTED = [...QUARTERS.slice(0, -1), '5', '--conf', '0'];

export function play(model: string, base: readonly string[], ...knobs: readonly string[]): Promise<Played> {
  return generateOnce(['--model', model, ...base, ...knobs], ...BODIES);
}

/** Of the largest expert: what a place for any of them takes. */
export function blobBytes({ blob_bytes }: Ready): number {
  return Math.max(...Object.values(blob_bytes));
}

/** What the output is, whatever it cost. */
export function output({ done }: Played): unknown {
  return done.map(({ ids, finish, digest, pass_tokens }) => ({ ids, finish, digest, pass_tokens }));
}

/** Of decode, over all requests. */
export function sum(played: Played, of: (work: Done['counters']) => number): number {
  return played.done.reduce((total, { counters }) => total + of(counters), 0);
}

export function lookups(played: Played, source: Source): number {
  return sum(played, (counters) => counters[source]);
}

/** Everything but what depends on time. */
export function steady({ done }: Played): unknown {
  return done.map(({ counters }) => ({ ...counters, late: 0, prefetch: { ...counters.prefetch, late: 0 } }));
}

/** Slots, arena and file hold every expert once, and every lookup has one source. */
export function expectBalanced({ ready, done }: Played): void {
  const { layers, experts, top_k } = ready.model;
  const { slots, arena_experts, file_experts } = ready.sizes;
  expect(Number(slots) + Number(arena_experts) + Number(file_experts)).toBe(layers * experts);
  const check = (work: Work): void => {
    expect(work.lookups).toBe(work.rows * layers * top_k);
    expect(SOURCES.reduce((total, source) => total + work[source], work.skipped)).toBe(work.lookups);
  };
  for (const { counters } of done) {
    check(counters);
    check(counters.prefill);
    expect(counters.prefill.skipped).toBe(0);
  }
}

/** An exact knob: the output stays, the books balance, and nothing is called lossy. */
export function expectExact(played: Played, base: Played): void {
  expect(output(played)).toEqual(output(base));
  expectBalanced(played);
  expect(played.ready.lossy).toEqual([]);
  expect(played.done.flatMap(({ lossy }) => lossy)).toEqual([]);
}
