// Identical arms: their noise, drift and position come out as they were put in, and a harness that favours an arm is accused.

import { expect, test } from 'vitest';
import { createRng } from '../../../src/core/rng.ts';
import { noiseFloor } from '../../../src/core/verdict/noise-floor.ts';
import { normal as normalOf } from '../../calibrate/noise.ts';
import { makePlan, makeRecord, type RecordOptions } from './record.ts';

function normal(key: string): number {
  return normalOf(createRng(key));
}

const BLOCKS = 40;
const base = makePlan({ arms: ['A', 'B'], blocks: BLOCKS });
/** AB, BA, AB, …: as the planner alternates. */
const runs = Array.from({ length: BLOCKS }, (_, b) =>
  (b % 2 === 0 ? ['A', 'B'] : ['B', 'A']).map((arm, p) => ({
    id: `b${b + 1}.p${p + 1}.${arm}`,
    block: b + 1,
    position: p + 1,
    arm,
  })),
).flat();

function made(
  log: (at: { arm: string; block: number; position: number }) => number,
  blocks = BLOCKS,
  disturbed: readonly number[] = [],
) {
  const options: RecordOptions = {
    arms: ['A', 'B'],
    blocks,
    plan: { ...base, blocks, baseline: 'A', runs: runs.filter((run) => run.block <= blocks) },
    answer: ({ arm, block }) => {
      const position = runs.find((run) => run.arm === arm && run.block === block)?.position ?? 0;
      const foreignCpuShare = disturbed.includes(block) ? 0.5 : 0.01;
      return { rate: 100 * Math.exp(log({ arm, block, position })), foreignCpuShare };
    },
  };
  const { plan, events } = makeRecord(options);
  return noiseFloor(plan, events);
}

test('noise, drift and the effect of the position', () => {
  const floor = made(
    ({ arm, block, position }) => 0.01 * normal(`${arm}${block}`) - 0.002 * block + 0.03 * (position - 1),
  );
  const [only] = floor?.classes ?? [];
  // The position is in every difference here, with changing sign: it is part of the spread, and found apart.
  expect(only?.spread).toBeGreaterThan(0.02);
  expect(only?.spreadUpper).toBeGreaterThan(only?.spread ?? 1);
  expect(only?.driftPerBlock).toBeCloseTo(-0.002, 3);
  expect(only?.driftP).toBeLessThan(0.001);
  expect(only?.positionEffect).toBeCloseTo(0.03, 2);
  expect(only?.positionP).toBeLessThan(0.001);
  expect(floor?.alarm).toBeNull();
});

test('a quiet machine: nothing is found, and larger effects need fewer blocks', () => {
  const floor = made(({ arm, block }) => 0.012 * normal(`q${arm}${block}`));
  const [only] = floor?.classes ?? [];
  expect(only?.spread).toBeCloseTo(0.017, 2);
  expect(only?.positionP).toBeGreaterThan(0.01);
  const needed = only?.blocksNeeded.map(({ blocks }) => blocks ?? 601) ?? [];
  expect(needed).toHaveLength(5);
  expect([...needed].sort((a, b) => b - a)).toEqual(needed);
  expect(floor?.alarm).toBeNull();
});

test('identical arms that differ accuse the harness', () => {
  const floor = made(({ arm, block }) => 0.005 * normal(`h${arm}${block}`) + (arm === 'B' ? 0.02 : 0));
  expect(floor?.alarm).toMatch(/^identical arms differ in prose \(p = /);
});

test('two blocks tell no noise', () => {
  expect(made(({ arm, block }) => 0.01 * normal(`${arm}${block}`), 2)).toBeNull();
});

test('blocks that others disturbed say nothing of the machine, and are told', () => {
  const quiet = ({ arm, block }: { arm: string; block: number }) => 0.01 * normal(`d${arm}${block}`);
  const slowed = [3, 7, 20, 21];
  const beside = (at: { arm: string; block: number }) =>
    quiet(at) - (slowed.includes(at.block) && at.arm === 'B' ? 1 : 0);
  const floor = made(beside, BLOCKS, slowed);
  expect(floor).toMatchObject({ blocks: 36, disturbed: 4, alarm: null });
  expect(floor?.classes[0]?.spread).toBeLessThan(0.02);
  // The same numbers, counted in: the spread is theirs.
  expect(made(beside)?.classes[0]?.spread).toBeGreaterThan(0.2);
  expect(made(quiet)).toMatchObject({ blocks: 40, disturbed: 0 });
  expect(made(quiet, 4, [1, 4])).toBeNull();
});
