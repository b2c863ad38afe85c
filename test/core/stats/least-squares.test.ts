// Least squares and its clustered errors: against R's lm and clubSandwich (golden/fit.json), and what must hold for any numbers.

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fitPasses, type Pass } from '../../../src/core/fit/pass-model.ts';
import { clusterRobust } from '../../../src/core/stats/cluster-robust.ts';
import { dot, leastSquares } from '../../../src/core/stats/least-squares.ts';

interface Case {
  readonly name: string;
  readonly run: number[];
  readonly block: number[];
  readonly ms: number[];
  readonly rows: number[];
  readonly pcie: number[];
  readonly file: number[];
  readonly cpu: number[];
  readonly kept: string[];
  readonly coefficients: number[];
  readonly standardErrors: number[];
  readonly df: number[];
  readonly inflation: number[];
  readonly r2: number;
  readonly residualMs: number;
  readonly heldOutR2: number;
}

const golden = JSON.parse(readFileSync(new URL('../golden/fit.json', import.meta.url), 'utf8')) as {
  readonly cases: readonly Case[];
};

const passesOf = (each: Case): Pass[] =>
  each.ms.map((ms, i) => {
    const [pcie, file, cpu] = [each.pcie[i] ?? 0, each.file[i] ?? 0, each.cpu[i] ?? 0];
    return {
      run: `run ${each.run[i]}`,
      block: each.block[i] ?? 0,
      ms,
      rows: each.rows[i] ?? 0,
      lookups: { pcie, file, cpu },
      bytes: { pcie: pcie * 2e6, file: file * 2e6, cpu: cpu * 2e6 },
    };
  });

const close = (actual: number | null | undefined, expected: number | undefined, tolerance = 1e-9): void => {
  const share = Math.abs((actual ?? Number.NaN) / (expected ?? Number.NaN) - 1);
  expect(share, `${actual} beside ${expected}`).toBeLessThan(tolerance);
};

test.each(golden.cases)('$name: as lm and clubSandwich have it', (each) => {
  const fit = fitPasses(passesOf(each), 'lookup');
  expect(fit?.terms.map(({ term }) => term)).toEqual(each.kept);
  for (const [i, term] of (fit?.terms ?? []).entries()) {
    close(term.value, each.coefficients[i]);
    close(term.standardError, each.standardErrors[i]);
    close(term.df, each.df[i]);
    if (i > 0) close(term.inflation, each.inflation[i - 1]);
  }
  close(fit?.r2, each.r2);
  close(fit?.residualMs, each.residualMs);
  close(fit?.heldOutR2, each.heldOutR2);
});

test('by MB the same model has the same fit, and slopes by the bytes of a lookup', () => {
  const [first] = golden.cases;
  if (first === undefined) throw new Error('no case');
  const byLookup = fitPasses(passesOf(first), 'lookup');
  const byBytes = fitPasses(passesOf(first), 'MB');
  close(byBytes?.r2, byLookup?.r2 ?? undefined);
  const slope = (of: typeof byBytes) => of?.terms.find(({ term }) => term === 'file')?.value;
  close(slope(byBytes), (slope(byLookup) ?? 0) / 2);
});

/** As counts and sizes are: no number is so small that its square is 0. */
const finite = fc.integer({ min: -8000, max: 8000 }).map((eighths) => eighths / 8);
const rows = fc.array(fc.tuple(finite, finite, finite, finite), { minLength: 6, maxLength: 30 });

test('any numbers: q is orthonormal, the residuals stand on every column, q · r gives the columns back', () => {
  fc.assert(
    fc.property(rows, (data) => {
      const columns = [data.map(() => 1), ...[0, 1, 2].map((i) => data.map((row) => row[i] ?? 0))];
      const y = data.map((row) => row[3]);
      const { q, r, kept, residuals } = leastSquares(columns, y);
      for (const [i, a] of q.entries()) {
        for (const [j, b] of q.entries()) expect(Math.abs(dot(a, b) - (i === j ? 1 : 0))).toBeLessThan(1e-12);
      }
      const size = Math.sqrt(dot(y, y));
      for (const direction of q) expect(Math.abs(dot(direction, residuals))).toBeLessThan(1e-11 * (1 + size));
      for (const [place, index] of kept.entries()) {
        const column = columns[index] ?? [];
        const back = column.map((_, row) =>
          q.reduce((sum, direction, i) => sum + (direction[row] ?? 0) * (r[i]?.[place] ?? 0), 0),
        );
        for (const [row, value] of column.entries())
          expect(Math.abs((back[row] ?? 0) - value)).toBeLessThan(1e-9);
      }
    }),
  );
});

test('any numbers: a column that others make up is left out and changes nothing; shifting and scaling y moves what it should', () => {
  fc.assert(
    fc.property(rows, fc.double({ min: 0.5, max: 20, noNaN: true }), (data, factor) => {
      const columns = [data.map(() => 1), data.map((row) => row[0]), data.map((row) => row[1])];
      const y = data.map((row) => row[3]);
      const plain = leastSquares(columns, y);
      const made = data.map((row) => 3 - 2 * row[0] + row[1]);
      const more = leastSquares([...columns, made], y);
      expect(more.coefficients[3]).toBeNull();
      expect(more.coefficients.slice(0, 3)).toEqual(plain.coefficients);
      const names = data.map((_, i) => `run ${i % 3}`);
      const scaled = leastSquares(
        columns,
        y.map((value) => 5 + factor * value),
      );
      const [own, other] = [clusterRobust(plain, names), clusterRobust(scaled, names)];
      const scale = Math.max(1, ...y.map(Math.abs));
      for (const [i, each] of (own ?? []).entries()) {
        const found = other?.[i];
        expect(Math.abs((found?.df ?? 0) - each.df)).toBeLessThan(1e-6 * Math.max(1, each.df));
        // A residual of 0 is some 1e-13 of y.
        const slack =
          1e-9 *
          factor *
          (scale + each.standardError) *
          (1 + 1 / Math.max(1e-9, Math.abs(plain.r[i]?.[i] ?? 1)));
        expect(Math.abs((found?.standardError ?? 0) - factor * each.standardError)).toBeLessThan(
          slack + 1e-6 * factor * each.standardError,
        );
      }
    }),
  );
});

test('the order of the passes and the names of the runs have no say', () => {
  const [first] = golden.cases;
  if (first === undefined) throw new Error('no case');
  const passes = passesOf(first);
  const turned = [...passes].reverse().map((pass) => ({ ...pass, run: `z${pass.run}` }));
  const [a, b] = [fitPasses(passes, 'lookup'), fitPasses(turned, 'lookup')];
  for (const [i, term] of (a?.terms ?? []).entries()) {
    close(b?.terms[i]?.value, term.value, 1e-8);
    close(b?.terms[i]?.standardError, term.standardError ?? undefined, 1e-8);
  }
});

test('one run has no error, and too few passes have no model', () => {
  const [first] = golden.cases;
  if (first === undefined) throw new Error('no case');
  const passes = passesOf(first).map((pass) => ({ ...pass, run: 'only', block: 1 }));
  const fit = fitPasses(passes, 'lookup');
  expect(fit?.terms.every(({ standardError, interval }) => standardError === null && interval === null)).toBe(
    true,
  );
  expect(fit?.heldOutR2).toBeNull();
  expect(fitPasses(passes.slice(0, 5), 'lookup')).toBeNull();
});
