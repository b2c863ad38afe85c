// Sums that statistics are made of. Knows numbers only.

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** NaN without values. */
export const mean = (values: readonly number[]): number => sum(values) / values.length;

/** Σ (value − mean)² */
export function squaresAroundMean(values: readonly number[]): number {
  const middle = mean(values);
  return values.reduce((total, value) => total + (value - middle) ** 2, 0);
}
