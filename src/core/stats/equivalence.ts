// Equivalence and non-inferiority of a ratio, read from its interval (Schuirmann's two one-sided tests). Knows no arms.

/**
 * A ratio interval at error level a lies inside the margin exactly when both one-sided tests reject at a / 2.
 * The margin is a share of the speed: 0.03 means 0.97 to 1.03.
 */
export function isEquivalent(interval: readonly [number, number], margin: number): boolean {
  return interval[0] > 1 - margin && interval[1] < 1 + margin;
}

/** Not slower by the margin or more. */
export function isNonInferior(interval: readonly [number, number], margin: number): boolean {
  return interval[0] > 1 - margin;
}
