// Fisher's exact test, against SciPy's fisher_exact.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fisherExact } from '../../../src/core/stats/fisher.ts';

test.each([
  [4, 4, 0, 4, 0.028571428571428567],
  [3, 4, 1, 4, 0.48571428571428565],
  [7, 8, 2, 16, 0.0007464604314786035],
  [0, 8, 5, 24, 0.29644048943270296],
  [0, 8, 0, 8, 1],
])('%i of %i against %i of %i', (a, n, b, m, p) => {
  expect(fisherExact(a, n, b, m)).toBeCloseTo(p, 10);
});

test('is a probability, and the same whichever side is named first', () => {
  const table = fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 60 })).chain(([n, m]) =>
    fc.record({
      n: fc.constant(n),
      m: fc.constant(m),
      a: fc.integer({ min: 0, max: n }),
      b: fc.integer({ min: 0, max: m }),
    }),
  );
  fc.assert(
    fc.property(table, ({ a, n, b, m }) => {
      const p = fisherExact(a, n, b, m);
      expect(p).toBeGreaterThan(0);
      expect(p).toBeLessThanOrEqual(1);
      expect(fisherExact(b, m, a, n)).toBeCloseTo(p, 9);
      expect(fisherExact(n - a, n, m - b, m)).toBeCloseTo(p, 9);
    }),
  );
});
