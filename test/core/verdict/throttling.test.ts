// Throttling of a GPU that leans to one arm: an effect of that arm, and every block still counts.

import { expect, test } from 'vitest';
import type { GpuThrottle, WindowLoad } from '../../../src/core/records/journal.ts';
import { makeRecord, row, twice, verdictOf } from './record.ts';

const card = (throttles: readonly GpuThrottle[] | undefined): Partial<WindowLoad> => ({
  gpus: [
    {
      ...{ uuid: 'GPU-a', utilizationPercent: 90, ownMemoryBytes: 1, foreignMemoryBytes: 0 },
      ...{ smClockMhz: 1400, powerWatts: 690, temperatureC: 65 },
      ...(throttles === undefined ? {} : { throttles }),
    },
  ],
});

const steady = { arithmeticMs: 10, memoryMs: 5 };

function judged(of: (arm: string, block: number) => readonly GpuThrottle[] | undefined) {
  return verdictOf(
    makeRecord({
      ...twice,
      blocks: 8,
      calibrate: () => steady,
      answer: (at) => ({
        ...twice.answer?.(at),
        ...(at.kind === 'measure' ? { load: card(of(at.arm, at.block)) } : {}),
      }),
    }),
  );
}

const leansOf = (verdict: ReturnType<typeof judged>) =>
  verdict.calibration?.leans.map(({ arm, of, own, others }) => [arm, of, own, others]);

test('one arm is held to the power limit, the other is not', () => {
  const verdict = judged((arm, block) => (arm === 'fast' && block > 1 ? ['power cap'] : []));
  expect(leansOf(verdict)).toEqual([['fast', 'power cap', 7 / 8, 0]]);
  expect(verdict.warnings.filter((text) => text.includes('the GPU'))).toMatchInlineSnapshot(`
    [
      "the GPU was held to its power limit in 7 of 8 runs of fast and 0 of 8 of the others (p 0.001): an effect of fast, for which nothing is left out",
    ]
  `);
  expect(row(verdict, 'fast').blocks).toBe(8);
});

test('both arms alike, once, or not told: nobody’s effect', () => {
  expect(leansOf(judged(() => ['power cap', 'hardware slowdown']))).toEqual([]);
  expect(leansOf(judged((arm, block) => (arm === 'fast' && block === 2 ? ['power cap'] : [])))).toEqual([]);
  expect(leansOf(judged((arm) => (arm === 'fast' ? ['power cap'] : undefined)))).toEqual([]);
});

test('each reason by itself', () => {
  const verdict = judged((arm) =>
    arm === 'fast' ? ['software thermal slowdown', 'power cap'] : ['power cap'],
  );
  expect(leansOf(verdict)).toEqual([['fast', 'software thermal slowdown', 1, 0]]);
});
