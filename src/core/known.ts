// Arithmetic on numbers that may be unknown: null stays null and is never taken for 0. Knows no meaning of the numbers.

export type Known = number | null;

/** Unknown as soon as one part is unknown. */
export function knownSum(parts: readonly Known[]): Known {
  return parts.reduce<Known>((sum, part) => (sum === null || part === null ? null : sum + part), 0);
}

/** Unknown when either is unknown or there is nothing to divide by. */
export function ratio(numerator: Known, denominator: Known): Known {
  return numerator === null || denominator === null || denominator === 0 ? null : numerator / denominator;
}

export function scaled(value: Known, factor: number): Known {
  return value === null ? null : value * factor;
}

/** Middle of the known values; null when there is none. */
export function medianKnown(values: readonly Known[]): Known {
  const sorted = values.filter((value): value is number => value !== null).sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

/** Largest of the known values; null when there is none. */
export function maxKnown(values: readonly Known[]): Known {
  return values.reduce<Known>(
    (max, value) => (value === null || (max !== null && max >= value) ? max : value),
    null,
  );
}

/** exp of the mean of logs; null when any value is unknown or not positive, or there is none. */
export function geometricMean(values: readonly Known[]): Known {
  if (values.length === 0) return null;
  let sum = 0;
  for (const value of values) {
    if (value === null || value <= 0) return null;
    sum += Math.log(value);
  }
  return Math.exp(sum / values.length);
}
