// What all runs together say: the rates of each arm in the order of time, and what was tried without a gain. Pure.

import { geometricMean, type Known } from '../known.ts';
import type { ArmClassVerdict, Verdict } from '../records/verdict.ts';
import { createRng } from '../rng.ts';
import { percent } from '../verdict/lines.ts';
import { type ChangePoint, changePoints } from './change-points.ts';

export interface Series {
  readonly protocol: string;
  readonly arm: string;
  readonly class: string;
  /** The same words to the same engine: another command is another history. */
  readonly command: string;
  readonly points: readonly { readonly run: string; readonly tokPerSec: number }[];
  readonly changes: readonly (ChangePoint & { readonly run: string })[];
}

/** Of the blocks that others left alone: their load is no change of the arm. Null where there is none. */
function calmRate(row: ArmClassVerdict, disturbed: ReadonlySet<number>): Known {
  const calm = row.perBlock.filter(({ block }) => !disturbed.has(block));
  const rate = disturbed.size === 0 ? row.tokPerSec : geometricMean(calm.map((each) => each.tokPerSec));
  return rate === null || rate <= 0 ? null : rate;
}

/** Verdicts in the order of time. */
export function histories(verdicts: readonly Verdict[]): Series[] {
  const found = new Map<
    string,
    { row: ArmClassVerdict; protocol: string; points: { run: string; tokPerSec: number }[] }
  >();
  for (const { arms, protocol, runFolder, foreignLoad } of verdicts) {
    const disturbed = new Set(foreignLoad?.disturbed.map(({ block }) => block) ?? []);
    for (const row of arms) {
      const tokPerSec = calmRate(row, disturbed);
      if (tokPerSec === null) continue;
      const key = JSON.stringify([protocol, row.class, row.arm, row.command]);
      const series = found.get(key) ?? { row, protocol, points: [] };
      series.points.push({ run: runFolder, tokPerSec });
      found.set(key, series);
    }
  }
  return [...found].map(([key, { row, protocol, points }]) => ({
    protocol,
    arm: row.arm,
    class: row.class,
    command: row.command,
    points,
    changes: changePoints(
      points.map(({ tokPerSec }) => tokPerSec),
      createRng(key),
    ).map((change) => ({
      ...change,
      run: points[change.index]?.run ?? '',
    })),
  }));
}

export interface Tried {
  readonly run: string;
  readonly protocol: string;
  readonly arm: string;
  readonly class: string;
  readonly output: ArmClassVerdict['output'];
  readonly command: string;
  /** `no gain`: ruled out above the bound. `open`: not ruled out, which is no finding. `trade`: another output. */
  readonly finding: 'no gain' | 'open' | 'trade';
  /** Upper bound of the gain, as a share. */
  readonly bound: number;
  readonly line: string;
}

/** Every comparison that ended without a win: searched before something is tried again. */
export function triedWithoutGain(verdicts: readonly Verdict[]): Tried[] {
  return verdicts.flatMap(({ arms, protocol, runFolder }) =>
    arms.flatMap((row): Tried[] => {
      const { ratio, speed, output } = row;
      if (ratio === null || speed === 'baseline') return [];
      const isChanged = output === 'L3' || output === 'LX';
      if (!isChanged && (speed === 'faster' || speed === 'steadier')) return [];
      const bound = Math.max(0, ratio[2] - 1);
      const finding = isChanged ? 'trade' : speed === 'inconclusive' ? 'open' : 'no gain';
      const { arm, class: name, command } = row;
      const line = {
        'no gain': `tried, no gain ≥ ${percent(Math.max(bound, 0.001))} at 95 %`,
        open: `open: a gain of up to ${percent(bound)} is not ruled out`,
        trade: `tried, ${output === 'L3' ? 'changed the output' : 'output not verified'}`,
      }[finding];
      return [{ run: runFolder, protocol, arm, class: name, output, command, finding, bound, line }];
    }),
  );
}
