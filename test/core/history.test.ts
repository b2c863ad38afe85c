import { expect, test } from 'vitest';
import { changePoints } from '../../src/core/history/change-points.ts';
import { histories, triedWithoutGain } from '../../src/core/history/history.ts';
import { createRng } from '../../src/core/rng.ts';
import { normal as normalOf } from '../calibrate/noise.ts';
import { makeRecord, verdictOf } from './verdict/record.ts';

const noise = (seed: string) => {
  const rng = createRng(seed);
  return () => normalOf(rng);
};

test('a level that fell is found where it fell, and by how much; two of them too', () => {
  const normal = noise('fall');
  const rates = Array.from(
    { length: 40 },
    (_, i) => (i < 15 ? 100 : i < 28 ? 90 : 97) * Math.exp(0.01 * normal()),
  );
  const found = changePoints(rates, createRng(1));
  expect(found.map(({ index }) => index)).toEqual([15, 28]);
  expect(found[0]?.ratio).toBeCloseTo(0.9, 1);
  expect(found[1]?.ratio).toBeCloseTo(97 / 90, 1);
});

test('noise alone is called a change as rarely as the test allows; no spread and short histories never', () => {
  const normal = noise('quiet');
  let false_ = 0;
  for (let i = 0; i < 300; i++) {
    const rates = Array.from({ length: 20 }, () => 100 * Math.exp(0.02 * normal()));
    if (changePoints(rates, createRng(i)).length > 0) false_++;
  }
  expect(false_ / 300).toBeLessThan(0.03);
  expect(changePoints(new Array(50).fill(7), createRng(1))).toEqual([]);
  expect(changePoints([1, 1, 1, 9, 9, 9], createRng(1))).toEqual([]);
});

test('another command is another history; a run without a rate is no point of it', () => {
  const of = (rate: number, command: string) => ({
    ...verdictOf(makeRecord({ answer: () => ({ rate }), arm: () => ({ argv: [command] }) })),
  });
  const series = histories([of(100, 'a'), of(110, 'a'), of(120, 'b')]);
  expect(series.map(({ arm, command, points }) => `${arm} ${command} ${points.length}`)).toEqual([
    'base a 2',
    'fast a 2',
    'base b 1',
    'fast b 1',
  ]);
});

test('blocks that others disturbed are no part of a point; a run of none but such has no point', () => {
  const of = (disturbed: readonly number[]) =>
    verdictOf(
      makeRecord({
        answer: ({ block }) =>
          disturbed.includes(block) ? { rate: 10, foreignCpuShare: 0.5 } : { rate: 100 + block },
      }),
    );
  const rates = (...verdicts: ReturnType<typeof of>[]) =>
    histories(verdicts)
      .find(({ arm }) => arm === 'base')
      ?.points.map(({ tokPerSec }) => Number(tokPerSec.toFixed(2)));
  expect(rates(of([]), of([1, 3]))).toEqual([102.49, 103]);
  expect(rates(of([]), of([1, 2, 3, 4]))).toEqual([102.49]);
});

test('what was tried: no gain beyond a bound, still open, a trade; never what won', () => {
  const tried = (rate: (block: number) => number, ids?: readonly number[]) =>
    triedWithoutGain([
      verdictOf(
        makeRecord({
          blocks: 8,
          answer: ({ arm, block }) =>
            arm === 'fast' ? { rate: rate(block), ...(ids === undefined ? {} : { ids }) } : { rate: 100 },
        }),
      ),
    ]);
  expect(tried((block) => 99.9 + 0.2 * (block % 2))[0]?.line).toMatch(/^tried, no gain ≥ 0\.1\d* % at 95 %$/);
  expect(tried((block) => 70 + block)[0]?.finding).toBe('no gain');
  expect(tried((block) => 70 + 60 * (block % 2))[0]?.finding).toBe('open');
  expect(tried((block) => 200 + block, new Array(64).fill(9))[0]).toMatchObject({
    finding: 'trade',
    output: 'L3',
  });
  expect(tried((block) => 200 + block)).toEqual([]);
});
