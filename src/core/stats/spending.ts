// How much error a look may spend: O'Brien–Fleming-type spending and the levels that follow from it. Knows no blocks, only shares.

import { nodesOf } from './quadrature.ts';
import { rootBetween } from './root.ts';
import { normalDensity, normalQuantileAbove, normalTail } from './special.ts';

/** Two-sided error spent by the share t of the planned information (Lan and DeMets 1983, the O'Brien–Fleming type): 4 − 4Φ(z_{α/4} / √t). */
export function spentBy(share: number, alpha: number): number {
  return share >= 1 ? alpha : 4 * normalTail(normalQuantileAbove(alpha / 4) / Math.sqrt(share));
}

/** Points at which the density of the running sum is known, with the weights of the integral over them. */
interface Density {
  readonly share: number;
  readonly points: readonly { readonly at: number; readonly mass: number }[];
}

const START: Density = { share: 0, points: [{ at: 0, mass: 1 }] };
const PANELS = 48;

/** P(|S| ≥ bound) at the next look, S being the running sum, a Brownian motion in units of information. */
function crossing({ share, points }: Density, next: number, bound: number): number {
  const step = Math.sqrt(next - share);
  return points.reduce(
    (sum, { at, mass }) => sum + mass * (normalTail((bound - at) / step) + normalTail((bound + at) / step)),
    0,
  );
}

function stay({ share, points }: Density, next: number, bound: number): Density {
  const step = Math.sqrt(next - share);
  const density = (s: number): number =>
    points.reduce((sum, { at, mass }) => sum + (mass * normalDensity((s - at) / step)) / step, 0);
  return {
    share: next,
    points: nodesOf(-bound, bound, PANELS).map(([at, weight]) => ({ at, mass: weight * density(at) })),
  };
}

const known = new Map<string, number[]>();

/**
 * For each look the two-sided level at which a test may reject there, so that all looks together reject a true null with
 * probability alpha: the recursion of Armitage, McPherson and Rowe (1969) as in Jennison and Turnbull (2000, chapter 19), on the
 * normal scale; a t test uses the level with its own degrees of freedom (their section 3.8). Shares rise and end at 1.
 */
export function lookLevels(shares: readonly number[], alpha: number): number[] {
  const key = `${alpha} ${shares.join(' ')}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  let density = START;
  let spent = 0;
  const levels = shares.map((share, index) => {
    const extra = Math.max(spentBy(share, alpha) - spent, 1e-14);
    const root = Math.sqrt(share);
    const from = density;
    const z = rootBetween((each) => Math.log(crossing(from, share, each * root) / extra), 0, 12, 1e-10);
    spent = spentBy(share, alpha);
    if (index < shares.length - 1) density = stay(density, share, z * root);
    return 2 * normalTail(z);
  });
  known.set(key, levels);
  return levels;
}
