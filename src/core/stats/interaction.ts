// Does an effect depend on the content class? One row a block, one column a class of the same paired differences. Knows numbers only.

import { blockModel, type Table } from './block-model.ts';
import { fTail } from './variance-tests.ts';

export interface Interaction {
  readonly f: number;
  /** Of "the effect is the same in all classes". */
  readonly p: number;
}

/**
 * The F test of classes in the table of differences, whose rows are blocks: runs are the unit and requests never. Classes spread
 * differently and share their run, so both degrees of freedom are scaled by Greenhouse and Geisser's ε (1959). Null below two
 * blocks or two classes.
 */
export function interaction(differences: Table): Interaction | null {
  const classes = differences[0]?.length ?? 0;
  if (differences.length < 2 || classes < 2) return null;
  const { means, error, df, blocks } = blockModel(differences);
  const grand = means.reduce((sum, mean) => sum + mean, 0) / classes;
  const between = (blocks * means.reduce((sum, mean) => sum + (mean - grand) ** 2, 0)) / (classes - 1);
  if (error <= 1e-24) return between <= 1e-24 ? { f: 0, p: 1 } : { f: Number.MAX_VALUE, p: 0 };
  const epsilon = sphericity(differences);
  const f = between / error;
  return { f, p: fTail(f, (classes - 1) * epsilon, df * epsilon) };
}

/** Greenhouse and Geisser's ε from the covariances of the columns: 1 when all differences of two spread alike, 1/(k − 1) at worst. */
export function sphericity(table: Table): number {
  const k = table[0]?.length ?? 0;
  const n = table.length;
  const means = Array.from({ length: k }, (_, c) => table.reduce((sum, row) => sum + (row[c] ?? 0), 0) / n);
  const covariance = means.map((_, a) =>
    means.map(
      (_, b) =>
        table.reduce(
          (sum, row) => sum + ((row[a] ?? 0) - (means[a] ?? 0)) * ((row[b] ?? 0) - (means[b] ?? 0)),
          0,
        ) /
        (n - 1),
    ),
  );
  const rows = covariance.map((row) => row.reduce((sum, value) => sum + value, 0) / k);
  const grand = rows.reduce((sum, value) => sum + value, 0) / k;
  let trace = 0;
  let squares = 0;
  for (const [a, row] of covariance.entries()) {
    for (const [b, value] of row.entries()) {
      const centred = value - (rows[a] ?? 0) - (rows[b] ?? 0) + grand;
      if (a === b) trace += centred;
      squares += centred * centred;
    }
  }
  if (squares === 0) return 1;
  return Math.min(1, Math.max(1 / (k - 1), (trace * trace) / ((k - 1) * squares)));
}
