import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { divergence, logSumExp } from '../../../src/core/score/distribution.ts';
import golden from '../golden/divergences.json' with { type: 'json' };

/** As make_divergences.py makes them. */
function logits(size: number, [seed = 1, scale = 1, offset = 0]: readonly number[]): Float32Array {
  return Float32Array.from(
    { length: size },
    (_, i) => (((i * 7919 * seed + i * i * 31) % 1009) / 1009) * scale + offset,
  );
}

describe('NumPy’s and SciPy’s values', () => {
  test.each(golden.values)('of $size logits, $reference and $other', (value) => {
    const reference = logits(value.size, value.reference);
    const other = logits(value.size, value.other);
    expect(Math.abs(logSumExp(reference) - value.logSumExp)).toBeLessThan(
      1e-12 * Math.max(1, Math.abs(value.logSumExp)),
    );
    expect(Math.abs(divergence(reference, other) - value.divergence)).toBeLessThan(1e-12);
  });

  test('cover more than nothing, also far apart and hardly apart', () => {
    const found = golden.values.map((value) => value.divergence);
    expect(Math.min(...found)).toBeLessThan(1e-9);
    expect(Math.max(...found)).toBeGreaterThan(1);
  });
});

const vector = fc
  .array(fc.float({ min: -50, max: 50, noNaN: true }), { minLength: 1, maxLength: 60 })
  .map((list) => Float32Array.from(list));
const pair = fc.integer({ min: 1, max: 60 }).chain((length) => {
  const one = fc
    .array(fc.float({ min: -50, max: 50, noNaN: true }), { minLength: length, maxLength: length })
    .map((list) => Float32Array.from(list));
  return fc.tuple(one, one);
});

test('equal logits diverge by exactly nothing', () => {
  fc.assert(fc.property(vector, (logits) => divergence(logits, Float32Array.from(logits)) === 0));
});

test('a divergence is never negative, and 0 only where the distributions are the same', () => {
  fc.assert(
    fc.property(pair, ([p, q]) => {
      const found = divergence(p, q);
      expect(found).toBeGreaterThanOrEqual(0);
      // Pinsker: the total variation is at most sqrt(divergence / 2).
      const share = (logits: Float32Array): number[] =>
        [...logits].map((logit) => Math.exp(logit - logSumExp(logits)));
      const [a, b] = [share(p), share(q)];
      const variation = a.reduce((sum, value, i) => sum + Math.abs(value - (b[i] ?? 0)), 0) / 2;
      expect(variation).toBeLessThanOrEqual(Math.sqrt(found / 2) + 1e-7);
    }),
  );
});

test('what the other rules out is infinitely far, what the reference rules out is nothing, no number is no number', () => {
  const never = Number.NEGATIVE_INFINITY;
  expect(divergence(Float32Array.of(0, 0), Float32Array.of(0, never))).toBe(Number.POSITIVE_INFINITY);
  expect(divergence(Float32Array.of(0, never), Float32Array.of(0, 0))).toBeCloseTo(Math.log(2), 15);
  expect(divergence(Float32Array.of(0, never), Float32Array.of(0, never))).toBe(0);
  expect(divergence(Float32Array.of(0, Number.NaN), Float32Array.of(0, 0))).toBeNaN();
  expect(divergence(Float32Array.of(0, 0), Float32Array.of(Number.NaN, 0))).toBeNaN();
  expect(() => divergence(Float32Array.of(0), Float32Array.of(0, 0))).toThrow('1 logits and 2');
});
