// Does a series still move? Least-squares slope over time with one level per group. Knows numbers only.

import { tQuantile } from './student.ts';

export interface Point {
  /** Series with another level each (content classes), which share the slope. */
  readonly group: string;
  readonly value: number;
}

export interface Slope {
  /** Change per step. */
  readonly slope: number;
  readonly standardError: number;
  readonly df: number;
}

/** Slope of value over index with a level per group, or null when the points leave no degree of freedom. */
export function slopeOf(points: readonly Point[]): Slope | null {
  const groups = new Map<string, { x: number; y: number; n: number }>();
  for (const [index, { group, value }] of points.entries()) {
    const sums = groups.get(group) ?? { x: 0, y: 0, n: 0 };
    groups.set(group, { x: sums.x + index, y: sums.y + value, n: sums.n + 1 });
  }
  const df = points.length - groups.size - 1;
  if (df < 1) return null;
  let xx = 0;
  let xy = 0;
  let yy = 0;
  for (const [index, { group, value }] of points.entries()) {
    const sums = groups.get(group);
    if (sums === undefined) continue;
    const x = index - sums.x / sums.n;
    const y = value - sums.y / sums.n;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  if (xx === 0) return null;
  const slope = xy / xx;
  const residual = Math.max(0, yy - slope * xy);
  return { slope, standardError: Math.sqrt(residual / df / xx), df };
}

/**
 * Is |slope| beyond the limit by more than chance? At one-sided 80 %: a few windows have so little power that at 95 % a rise of
 * 40 % would pass for noise, and a wrong "moves" costs one more window only.
 */
export function movesBeyond({ slope, standardError, df }: Slope, limit: number): boolean {
  const excess = Math.abs(slope) - limit;
  return excess > 1e-12 && excess > tQuantile(0.8, df) * standardError;
}
