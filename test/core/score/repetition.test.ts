import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { firstLoop, type Loop, repeatedShare } from '../../../src/core/score/repetition.ts';

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
const times = (unit: readonly number[], n: number): number[] => Array.from({ length: n }, () => unit).flat();

describe('the share of 8-grams that were there before', () => {
  test.each<[string, number[], number | null]>([
    ['seven tokens have none', range(0, 7), null],
    ['one has no other', range(0, 8), 0],
    ['all different', range(0, 100), 0],
    ['all the same: only the first is new', times([5], 20), 12 / 13],
    ['a sentence said twice', times(range(0, 10), 2), 3 / 13],
    ['seven tokens said twice are too few', [...range(0, 7), 90, ...range(0, 7), 91], 0],
    ['eight are one', [...range(0, 8), 90, ...range(0, 8), 91], 1 / 11],
  ])('%s', (_, ids, share) => {
    expect(repeatedShare(ids)).toBe(share);
  });

  test('does not take 1,23 for 12,3', () => {
    expect(repeatedShare([1, 23, 0, 0, 0, 0, 0, 0, 12, 3, 0, 0, 0, 0, 0, 0])).toBe(0);
  });

  test('is a share, and the same under other names for the tokens', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3), { minLength: 8, maxLength: 80 }), (ids) => {
        const share = repeatedShare(ids) ?? -1;
        expect(share).toBeGreaterThanOrEqual(0);
        expect(share).toBeLessThan(1);
        expect(repeatedShare(ids.map((id) => 1000 - id * 7))).toBe(share);
      }),
    );
  });
});

/** By the words of the definition, one place and period at a time. */
function slowly(ids: readonly number[]): Loop | null {
  for (let at = 0; at < ids.length; at++) {
    for (let period = 1; period <= 64; period++) {
      const length = Math.max(3 * period, 16);
      if (at + length > ids.length) break;
      if (range(at, at + length - period).every((i) => ids[i] === ids[i + period])) return { at, period };
    }
  }
  return null;
}

describe('the first loop', () => {
  test.each<[string, number[], Loop | null]>([
    ['none in what never repeats', range(0, 200), null],
    ['one token sixteen times', [...range(100, 110), ...times([7], 16)], { at: 10, period: 1 }],
    ['fifteen times is none', [...range(100, 110), ...times([7], 15)], null],
    ['a sentence three times', [...range(100, 110), ...times(range(0, 10), 3)], { at: 10, period: 10 }],
    ['two and most of a third is none', [...range(100, 110), ...times(range(0, 10), 3).slice(0, 29)], null],
    ['it need not last', [...times(range(0, 6), 3), ...range(50, 90)], { at: 0, period: 6 }],
    ['the longest period', times(range(0, 64), 3), { at: 0, period: 64 }],
    ['a longer one is none', times(range(0, 65), 3), null],
    [
      'it begins where the repeated begins, though the unit is named from elsewhere',
      [1, 2, 3, ...times([9, 8, 3], 6)],
      { at: 2, period: 3 },
    ],
    ['nothing', [], null],
  ])('%s', (_, ids, loop) => {
    expect(firstLoop(ids)).toEqual(loop);
  });

  test('is what the definition says, for texts that repeat themselves often', () => {
    const text = fc
      .array(fc.tuple(fc.array(fc.nat(2), { minLength: 1, maxLength: 9 }), fc.integer({ min: 1, max: 9 })), {
        maxLength: 5,
      })
      .map((parts) => parts.flatMap(([unit, n]) => times(unit, n)));
    fc.assert(
      fc.property(text, (ids) => {
        expect(firstLoop(ids)).toEqual(slowly(ids));
      }),
      { numRuns: 500 },
    );
  });
});
