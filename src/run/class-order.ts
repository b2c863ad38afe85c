// Owns the order of the content classes in a block: drawn by the seed, the same for every arm of the block. Knows no engine.

import type { Plan } from '../core/records/plan.ts';
import { createRng } from '../core/rng.ts';

/** Derived from the plan alone, so that a resumed block is measured in the order it was begun in. */
export function classOrder(plan: Pick<Plan, 'seed' | 'workloads'>, block: number): string[] {
  const classes = plan.workloads.map((workload) => workload.class);
  return createRng(plan.seed).split(`classes of block ${block}`).shuffle(classes);
}
