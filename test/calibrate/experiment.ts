// Simulated experiments: an order by the real planner, runs on a made-up machine, a verdict by the real analysis. Counts what came out.

import { planOrder } from '../../src/core/design/order.ts';
import { createRng, type Rng } from '../../src/core/rng.ts';
import type { RateTable } from '../../src/core/verdict/rates.ts';
import { judgeSpeed, type SpeedFinding } from '../../src/core/verdict/speed.ts';
import { MACHINES, type Machine, type MachineName } from './noise.ts';

export interface Setting {
  readonly machine: MachineName;
  readonly arms: number;
  readonly blocks: number;
  /** ln of the true ratio of an arm; absent: nothing differs. */
  readonly effect?: (arm: number) => number;
  /** Rows of arm numbers; absent: as Rota plans them. */
  readonly order?: (rng: Rng) => readonly (readonly number[])[];
}

export const RULES = { margin: 0.03 };

export function tableOf({ machine, arms, blocks, effect, order }: Setting, rng: Rng): RateTable {
  const names = Array.from({ length: arms }, (_, arm) => String(arm));
  const rows = order?.(rng) ?? planOrder('balanced', names, blocks, rng).rows.map((row) => row.map(Number));
  return tableFrom(MACHINES[machine](rng, rows), names, effect);
}

export function tableFrom(
  logs: ReturnType<Machine>,
  arms: readonly string[],
  effect?: (arm: number) => number,
): RateTable {
  return {
    class: 'prose',
    arms,
    blocks: logs.map((row) => row.map((value, arm) => 50 * Math.exp(value + (effect?.(arm) ?? 0)))),
  };
}

export const isDifferent = ({ speed }: SpeedFinding): boolean => speed === 'faster' || speed === 'slower';

export interface Rate {
  /** In percent. */
  readonly percent: number;
  /** Standard error of the simulation, in points. */
  readonly error: number;
}

/** How often something happens in seeded experiments. */
export function share(seed: string, repeats: number, happens: (rng: Rng) => boolean): Rate {
  const rng = createRng(`calibrate ${seed}`);
  let count = 0;
  for (let i = 0; i < repeats; i++) if (happens(rng)) count++;
  const p = count / repeats;
  return { percent: 100 * p, error: 100 * Math.sqrt((p * (1 - p)) / repeats) };
}

/** Does the analysis call any of these arms different? All of them, unless told otherwise. */
export function findsAny(setting: Setting, arms?: readonly number[]): (rng: Rng) => boolean {
  return (rng) => {
    const findings = judgeSpeed([tableOf(setting, rng)], RULES);
    return findings.some((finding) => (arms?.includes(Number(finding.arm)) ?? true) && isDifferent(finding));
  };
}

/** Does the interval of arm 1 hold the true ratio? */
export function covers(setting: Setting): (rng: Rng) => boolean {
  const truth = Math.exp(setting.effect?.(1) ?? 0);
  return (rng) => {
    const [finding] = judgeSpeed([tableOf(setting, rng)], RULES);
    const [low, , high] = finding?.ratio ?? [0, 0, 0];
    return low <= truth && truth <= high;
  };
}
