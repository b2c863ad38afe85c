// Slopes held against links: what is a contradiction, what is not compared, and what is said of it.

import { expect, test } from 'vitest';
import { checkLinks, type Links } from '../../../src/core/fit/links.ts';
import type { FittedTerm, LeftOutTerm, Pass, PassFit } from '../../../src/core/fit/pass-model.ts';

/** Two lookups of 3 MB over each way. */
const PASSES: Pass[] = [1, 2].map((run) => ({
  run: `r${run}`,
  block: run,
  ms: 10,
  rows: 1,
  lookups: { pcie: 2, file: 2, cpu: 2 },
  bytes: { pcie: 6e6, file: 6e6, cpu: 6e6 },
}));
const LINKS: Links = { pcie: 24e9, file: 2e9, cpu: 100e9 };

const slope = (term: FittedTerm['term'], low: number, value: number, high: number): FittedTerm => ({
  term,
  value,
  standardError: 0.1,
  df: 5,
  interval: [low, high],
  inflation: 1,
  meanMs: value,
});

function check(term: FittedTerm, change: { leftOut?: LeftOutTerm[]; links?: Links; device?: string } = {}) {
  const fit: PassFit = {
    unit: 'lookup',
    passes: 2,
    runs: 2,
    blocks: 2,
    meanMs: 10,
    terms: [slope('constant', 1, 1, 1), term],
    leftOut: change.leftOut ?? [],
    r2: 1,
    heldOutR2: 1,
    residualMs: 1,
  };
  const [found] = checkLinks(fit, PASSES, change.links ?? LINKS, change.device ?? 'cuda');
  return found;
}

test('a slope below what the link needs, with its whole interval, contradicts it', () => {
  // 3 MB over 24 GB/s are 0.125 ms; the slope says 0.097.
  expect(check(slope('pcie', 0.09, 0.0968, 0.11))).toMatchObject({
    state: 'contradiction',
    linkGbPerSec: 24,
    line: 'pcie: the slope says 31.0 GB/s, the link measured 24.0 GB/s: contradiction: the link cannot be that fast, so a part of the time is hidden behind other work, or a counter is wrong',
  });
  expect(check(slope('pcie', 0.09, 0.0968, 0.11))?.interval?.map((rate) => rate?.toPrecision(3))).toEqual([
    '27.3',
    '33.3',
  ]);
});

test('what the interval does not exclude is no contradiction', () => {
  expect(check(slope('pcie', 0.05, 0.0968, 0.126))?.state).toBe('agrees');
  expect(check(slope('pcie', 0.05, 0.0968, 0.1249))?.state).toBe('contradiction');
});

test('a slope that may as well be none agrees with nothing', () => {
  expect(check(slope('file', -2.9, -0.1, 2.7))?.line).toBe(
    'file: the slope says no time at all, the link measured 2.00 GB/s: these passes cannot tell: the slope may as well be none',
  );
});

test('slower than the link with the whole interval is said, and no contradiction', () => {
  expect(check(slope('file', 1.6, 2.93, 4))?.line).toBe(
    'file: the slope says 1.02 GB/s, the link measured 2.00 GB/s: slower than the link, so more than the link is waited for',
  );
});

test('a slope of no time at all contradicts every link', () => {
  expect(check(slope('file', -0.4, -0.2, -0.1))).toMatchObject({
    state: 'contradiction',
    gbPerSec: null,
    interval: null,
    line: expect.stringMatching(
      /^file: the slope says no time at all, the link measured 2\.00 GB\/s: contradiction/,
    ),
  });
  // Nothing bounds the rate from above.
  expect(check(slope('file', -0.1, 1, 2))?.interval).toEqual([1.5, null]);
});

test('what is not the time of the link is not held against it', () => {
  expect(check(slope('cpu', 0.001, 0.002, 0.003), { device: 'host' })?.line).toMatch(
    /not compared: on the host device a hit is read from the same memory$/,
  );
  expect(check(slope('cpu', 0.001, 0.002, 0.003))?.state).toBe('contradiction');
  const leftOut: LeftOutTerm[] = [{ term: 'cpu', why: 'follows from the other terms' }];
  expect(check(slope('pcie', 0.01, 0.02, 0.03), { leftOut })?.line).toMatch(
    /not compared: it counts from cpu, not from a hit$/,
  );
  // A file is read on top of what the processor then computes.
  expect(check(slope('file', 0.01, 0.02, 0.03), { leftOut, device: 'host' })?.state).toBe('contradiction');
  expect(check(slope('pcie', 0.01, 0.02, 0.03), { links: { ...LINKS, pcie: null } })?.line).toBe(
    'pcie: the slope says 150 GB/s: not compared: nothing measured this link',
  );
  expect(check({ ...slope('pcie', 0, 0.02, 0), interval: null })?.line).toMatch(
    /not compared: one run has no error$/,
  );
});
