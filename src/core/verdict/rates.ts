// Rates in tables, a block a row and an arm a column, the baseline first; and the logarithms that statistics are made on. Knows no test.

import type { Known } from '../known.ts';

export interface RateTable {
  readonly class: string;
  /** The baseline first. */
  readonly arms: readonly string[];
  /** tok/s of each arm in each block; null where there is none. */
  readonly blocks: readonly (readonly Known[])[];
}

/** ln of the rates; null where there is none. */
export function logRates({ blocks }: RateTable): Known[][] {
  return blocks.map((row) => row.map((rate) => (rate === null || rate <= 0 ? null : Math.log(rate))));
}

/** ln(arm / baseline) of the blocks that have both, in order. */
export function logRatios(table: RateTable, arm: number): number[] {
  return logRates(table).flatMap((row) => {
    const [base = null] = row;
    const own = row[arm] ?? null;
    return base === null || own === null ? [] : [own - base];
  });
}

/** Rows and columns of one arm set without a hole: the blocks that the baseline has, and the columns that have all of them. */
export function completePart(table: RateTable): {
  readonly columns: readonly number[];
  readonly rows: readonly (readonly number[])[];
} {
  const logs = logRates(table).filter((row) => (row[0] ?? null) !== null);
  const columns = table.arms
    .map((_, arm) => arm)
    .filter((arm) => logs.every((row) => (row[arm] ?? null) !== null));
  return { columns, rows: logs.map((row) => columns.map((arm) => row[arm] ?? 0)) };
}

/**
 * One table over all classes: a run's rate is the geometric mean of its classes, each with the same weight however long it ran. A
 * run that lacks a class has none.
 */
export function overClasses(tables: readonly RateTable[]): RateTable {
  const [first] = tables;
  if (first === undefined) throw new RangeError('no class');
  const logs = tables.map(logRates);
  return {
    class: 'all classes',
    arms: first.arms,
    blocks: first.blocks.map((row, block) =>
      row.map((_, arm) => {
        let sum = 0;
        for (const each of logs) {
          const value = each[block]?.[arm] ?? null;
          if (value === null) return null;
          sum += value;
        }
        return Math.exp(sum / logs.length);
      }),
    ),
  };
}
