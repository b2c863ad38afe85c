// Holm's step-down test of a family of comparisons. Knows p-values only.

export interface HolmStep {
  /** Smallest family-wide error at which this comparison is rejected. */
  readonly adjusted: number;
  readonly rejected: boolean;
  /**
   * The level at which Holm decided this comparison: alpha / m for the smallest p, alpha / (m − 1) for the next, and for all
   * after the first that is not rejected the level of that one. An interval at this level excludes "no difference" exactly
   * when Holm rejects, so that a table and its words never contradict each other.
   */
  readonly level: number;
}

/**
 * Results in the order of the p-values given (Holm 1979). `spend` makes of a share of alpha what may be used of it now, where not all
 * looks are done yet; Holm's steps then are those of Ye and others (2013), which keep the family-wide error.
 */
export function holm(
  pValues: readonly number[],
  alpha: number,
  spend: (alpha: number) => number = (all) => all,
): HolmStep[] {
  const m = pValues.length;
  const order = pValues.map((p, index) => ({ p, index })).sort((a, b) => a.p - b.p || a.index - b.index);
  const steps: HolmStep[] = new Array(m);
  let running = 0;
  let stoppedAt: number | undefined;
  for (const [rank, { p, index }] of order.entries()) {
    running = Math.min(1, Math.max(running, (m - rank) * p));
    const level = stoppedAt ?? spend(alpha / (m - rank));
    const rejected = stoppedAt === undefined && p <= level;
    if (!rejected) stoppedAt = level;
    steps[index] = { adjusted: running, rejected, level };
  }
  return steps;
}
