// Unknown stays unknown.

import { expect, test } from 'vitest';
import { geometricMean, knownSum, maxKnown, medianKnown, ratio, scaled } from '../../src/core/known.ts';

test('a sum with an unknown part is unknown, never smaller', () => {
  expect(knownSum([1, 2])).toBe(3);
  expect(knownSum([1, null, 2])).toBeNull();
  expect(knownSum([])).toBe(0);
});

test('a ratio to nothing is unknown, not infinite', () => {
  expect(ratio(6, 3)).toBe(2);
  expect(ratio(6, 0)).toBeNull();
  expect(ratio(null, 3)).toBeNull();
  expect(ratio(0, null)).toBeNull();
  expect(scaled(null, 2)).toBeNull();
});

test('median and maximum are of what is known', () => {
  expect(medianKnown([3, null, 1, 2])).toBe(2);
  expect(medianKnown([4, 1])).toBe(2.5);
  expect(medianKnown([null])).toBeNull();
  expect(maxKnown([null, 2, 3, null])).toBe(3);
  expect(maxKnown([])).toBeNull();
});

test('the geometric mean wants every value', () => {
  expect(geometricMean([2, 8])).toBeCloseTo(4, 12);
  expect(geometricMean([2, null])).toBeNull();
  expect(geometricMean([2, 0])).toBeNull();
  expect(geometricMean([])).toBeNull();
});
