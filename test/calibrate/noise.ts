// Made-up machines: what a run's ln rate is, by block, position and arm, under each kind of noise. Seeded; knows no test.

import type { Rng } from '../../src/core/rng.ts';

/** ln rates of all runs of an experiment, in the order in which they were executed: one row a block, by arm number. */
export type Machine = (rng: Rng, rows: readonly (readonly number[])[]) => number[][];

/** Spread of one run on a quiet machine; of a paired difference it is √2 as much: 1.7 %. */
export const RUN_SPREAD = 0.012;

export function normal(rng: Rng): number {
  return Math.sqrt(-2 * Math.log(1 - rng.float())) * Math.cos(2 * Math.PI * rng.float());
}

/** Each run by itself, with whatever law and spread of its arm. */
function independent(draw: (rng: Rng, arm: number) => number): Machine {
  return (rng, rows) => rows.map((row) => byArm(row, (arm) => RUN_SPREAD * draw(rng, arm)));
}

function byArm(row: readonly number[], of: (arm: number) => number): number[] {
  const values = new Array<number>(row.length).fill(0);
  for (const arm of row) values[arm] = of(arm);
  return values;
}

function studentT3(rng: Rng): number {
  const chi = normal(rng) ** 2 + normal(rng) ** 2 + normal(rng) ** 2;
  // Scaled to a variance of 1.
  return normal(rng) / Math.sqrt(chi / 3) / Math.sqrt(3);
}

/** The clock of a machine that warms up and wanders: a trend of 0.5 % a run and a random walk of 1 % a run. */
const drifting: Machine = (rng, rows) => {
  let level = 0;
  return rows.map((row) =>
    byArm(row, () => {
      level += -0.005 + 0.01 * normal(rng);
      return level + RUN_SPREAD * normal(rng);
    }),
  );
};

/** A neighbour that comes and goes, for four runs on average and 30 % of the time, and costs 8 %. */
const coTenant: Machine = (rng, rows) => {
  let isThere = rng.float() < 0.3;
  return rows.map((row) =>
    byArm(row, () => {
      if (rng.float() < (isThere ? 0.25 : 0.107)) isThere = !isThere;
      return (isThere ? -0.08 : 0) + RUN_SPREAD * normal(rng);
    }),
  );
};

/** The last arm slows whatever runs after it by 3 %: heat, or a cache that it leaves empty. */
const carryOver: Machine = (rng, rows) => {
  let before = -1;
  return rows.map((row) =>
    byArm(row, (arm) => {
      const left = before === row.length - 1 ? -0.03 : 0;
      before = arm;
      return left + RUN_SPREAD * normal(rng);
    }),
  );
};

export const MACHINES = {
  quiet: independent(normal),
  drifting,
  'co-tenant': coTenant,
  skewed: independent((rng) => -Math.log(1 - rng.float())),
  'heavy-tailed': independent(studentT3),
  'a loud arm': independent((rng, arm) => (arm === 1 ? 6 : 1) * normal(rng)),
  'a loud baseline': independent((rng, arm) => (arm === 0 ? 6 : 1) * normal(rng)),
  'carry-over': carryOver,
} as const satisfies Record<string, Machine>;

export type MachineName = keyof typeof MACHINES;
