// What the calibration loop says: the machine's drift, and what leans to one arm, which is an effect and leaves nothing out.

import { expect, test } from 'vitest';
import { calibrationText } from '../../../src/core/verdict/calibration.ts';
import { makeRecord, type RecordOptions, row, twice, verdictOf } from './record.ts';

type Calibrate = NonNullable<RecordOptions['calibrate']>;

/** Noise of a few thousandths that is the same each time and leans nowhere. */
const noise = (block: number, position: number, when: string): number =>
  1 + 0.002 * Math.sin(7 * block + 3 * position + (when === 'after' ? 1.7 : 0));

const of = (calibrate: Calibrate, options: RecordOptions = {}) =>
  verdictOf(makeRecord({ ...twice, blocks: 8, ...options, calibrate }));

const steady: Calibrate = ({ block, position, when }) => ({
  arithmeticMs: 10 * noise(block, position, when),
  memoryMs: 5 * noise(block, position + 1, when),
  thermalThrottles: 3,
  quotaThrottles: 0,
});

const told = (verdict: ReturnType<typeof of>) =>
  verdict.warnings.filter((text) => /calibration|too hot|quota/.test(text));

test('a machine that keeps its pace: the numbers, and no warning', () => {
  const verdict = of(steady);
  expect(verdict.calibration).toMatchObject({ runs: 16, leans: [] });
  expect(verdict.calibration?.arithmetic.medianMs).toBeCloseTo(10, 1);
  expect(verdict.calibration?.arithmetic.fastestMs).toBeCloseTo(9.98, 2);
  expect(Math.abs(verdict.calibration?.arithmetic.drift ?? 1)).toBeLessThan(0.005);
  expect(told(verdict)).toEqual([]);
  if (verdict.calibration === undefined) throw new Error('none');
  expect(calibrationText(verdict.calibration)).toMatchInlineSnapshot(
    `"calibration loop around each run: arithmetic 10.0 ms (0 % from the first run to the last) · memory 5.00 ms (0 % from the first run to the last)"`,
  );
});

test('a record without the loop says nothing of it', () => {
  expect(verdictOf(makeRecord(twice))).not.toHaveProperty('calibration');
});

test('drift is told when it is more than chance and large enough to care', () => {
  const drifting =
    (share: number): Calibrate =>
    (at) => {
      const run = 2 * (at.block - 1) + at.position - 1;
      return {
        ...steady(at),
        arithmeticMs: 10 * noise(at.block, at.position, at.when) * (1 + (share * run) / 15),
      };
    };
  const verdict = of(drifting(0.08));
  expect(verdict.calibration?.arithmetic.drift).toBeCloseTo(0.08, 2);
  expect(verdict.calibration?.arithmetic.driftP).toBeLessThan(0.001);
  expect(told(verdict)).toMatchInlineSnapshot(`
    [
      "the machine itself drifted: the calibration loop's arithmetic took 8 % longer at the end than at the start (p < 0.001)",
    ]
  `);
  expect(told(of(drifting(0.015)))).toEqual([]);
});

test.each(['arithmeticMs', 'memoryMs'] as const)(
  'an arm after which the machine is slower: an effect of that arm, and every block still counts (%s)',
  (part) => {
    const hot: Calibrate = (at) => {
      const reading = steady(at);
      const slow = at.arm === 'fast' && at.when === 'after' ? 1.04 : 1;
      return { ...reading, [part]: (reading[part] ?? 0) * slow };
    };
    const verdict = of(hot);
    const [lean, ...others] = verdict.calibration?.leans ?? [];
    expect(others).toEqual([]);
    expect(lean).toMatchObject({ arm: 'fast', of: part === 'arithmeticMs' ? 'arithmetic' : 'memory' });
    expect(lean?.own).toBeCloseTo(0.04, 2);
    expect(Math.abs(lean?.others ?? 1)).toBeLessThan(0.005);
    expect(told(verdict)).toHaveLength(1);
    expect(told(verdict)[0]).toMatch(/ an effect of fast, for which nothing is left out$/);
    expect(row(verdict, 'fast')).toMatchObject({ blocks: 8, line: row(of(steady), 'fast').line });
    expect(verdict.exitCode).toBe(0);
  },
);

test('a slow hour slows both arms and leans to none', () => {
  const evening: Calibrate = (at) => {
    const reading = steady(at);
    return { ...reading, arithmeticMs: (reading.arithmeticMs ?? 0) * (at.block > 4 ? 1.7 : 1) };
  };
  expect(of(evening).calibration?.leans).toEqual([]);
});

test('what slows whole blocks hides no arm: it is held against the others of its block', () => {
  const uneven: Calibrate = (at) => {
    const reading = steady(at);
    const slow = at.when === 'after' ? (1 + 0.1 * (at.block % 3)) * (at.arm === 'fast' ? 1.04 : 1) : 1;
    return { ...reading, arithmeticMs: (reading.arithmeticMs ?? 0) * slow };
  };
  const [lean, ...more] = of(uneven).calibration?.leans ?? [];
  expect(more).toEqual([]);
  expect(lean).toMatchObject({ arm: 'fast', of: 'arithmetic' });
  expect((1 + (lean?.own ?? 0)) / (1 + (lean?.others ?? 0))).toBeCloseTo(1.04, 2);
});

test('one of three arms that heats the processor: counted by runs, against all others', () => {
  let total = 0;
  const heating =
    (hot: (arm: string, block: number) => boolean): Calibrate =>
    (at) => {
      if (at.when === 'after' && hot(at.arm, at.block)) total += 2;
      return { ...steady(at), thermalThrottles: total, quotaThrottles: null };
    };
  const arms = { arms: ['base', 'fast', 'other'], blocks: 4 };
  const verdict = of(
    heating((arm, block) => (arm === 'fast' ? block > 1 : false)),
    arms,
  );
  expect(verdict.calibration?.leans).toMatchObject([
    { arm: 'fast', of: 'thermal throttling', own: 0.75, others: 0 },
  ]);
  expect(told(verdict)).toMatchInlineSnapshot(`
    [
      "the processor was too hot in 3 of 4 runs of fast and 0 of 8 of the others (p 0.018): an effect of fast, for which nothing is left out",
    ]
  `);
  // All heat it alike, or it happens once: nobody's effect.
  expect(
    of(
      heating(() => true),
      arms,
    ).calibration?.leans,
  ).toEqual([]);
  expect(
    of(
      heating((arm, block) => arm === 'fast' && block === 2),
      arms,
    ).calibration?.leans,
  ).toEqual([]);
});
