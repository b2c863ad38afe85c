// All that a verdict says of speed: comparisons, spreads, headlines, components, of one set of tables. Knows rates of runs, no events.

import type { Plan } from '../records/plan.ts';
import type { ClassComponents, ComparisonTest, Interval, RobustEstimate } from '../records/verdict.ts';
import { varianceComponents } from '../stats/components.ts';
import { dunnettP } from '../stats/dunnett.ts';
import { hodgesLehmann } from '../stats/hodges-lehmann.ts';
import { pairedEstimate } from '../stats/paired.ts';
import type { ClassRun } from './aggregate.ts';
import { type HeadlineFinding, headlines } from './headline.ts';
import { plural } from './lines.ts';
import { completePart, logRatios, type RateTable } from './rates.ts';
import { judgeSpeed, type SpeedFinding, type SpeedRules, type SpeedTest } from './speed.ts';
import { judgeSpread, type SpreadFinding } from './spread.ts';

type RunsOf = (arm: string, className: string) => readonly ClassRun[];

export interface SpeedSection {
  /** Undefined for the baseline. */
  readonly speed: (arm: string, className: string) => SpeedFinding | undefined;
  /** Why an arm has no finding, in words; null for one that has. */
  readonly screenedOut: (arm: string) => string | null;
  readonly spread: (arm: string, className: string) => SpreadFinding | undefined;
  readonly robust: (arm: string, className: string) => RobustEstimate | null;
  readonly headlines: readonly HeadlineFinding[];
  readonly components: readonly ClassComponents[];
}

/** Of the blocks that may be claimed, and of the arms that were not screened out. */
export function speedSection(
  plan: Plan,
  runsOf: RunsOf,
  rules: SpeedRules,
  leftOut: ReadonlyMap<string, unknown>,
): SpeedSection {
  const screen = plan.sweep?.screen ?? 0;
  const isClaimed = (arm: string): boolean => !leftOut.has(arm);
  const tables = rateTables(plan, runsOf, { from: screen + 1, to: plan.blocks, isClaimed });
  const speeds = judgeSpeed(tables, rules);
  const spreads = judgeSpread(tables);
  const is = (arm: string, name: string) => (each: { readonly arm: string; readonly class: string }) =>
    each.arm === arm && each.class === name;
  return {
    speed: (arm, name) => (leftOut.has(arm) ? unclaimed(arm, name) : speeds.find(is(arm, name))),
    screenedOut: (arm) =>
      leftOut.has(arm) ? `screened out after ${plural(screen, 'block')}, no claim is made` : null,
    spread: (arm, name) => spreads.find(is(arm, name)),
    robust: (arm, name) => robustOf(tables, arm, name),
    headlines: headlines(tables, rules),
    components: tables.map((table) => ({ class: table.class, ...componentsOf(table, runsOf, screen) })),
  };
}

function unclaimed(arm: string, className: string): SpeedFinding {
  return { arm, class: className, speed: 'inconclusive', ratio: null, blocks: 0, test: null, unequal: false };
}

/** One table a class, in the order of the plan: the baseline first, then the arms as planned. */
export function rateTables(
  plan: Plan,
  runsOf: RunsOf,
  part: { readonly from: number; readonly to: number; readonly isClaimed: (arm: string) => boolean },
): RateTable[] {
  const others = plan.arms
    .map((arm) => arm.name)
    .filter((name) => name !== plan.baseline && part.isClaimed(name));
  const arms = [plan.baseline, ...others];
  return plan.workloads.map(({ class: name }) => ({
    class: name,
    arms,
    blocks: Array.from({ length: Math.max(0, part.to - part.from + 1) }, (_, index) =>
      arms.map((arm) => runIn(runsOf(arm, name), part.from + index)?.tokPerSec ?? null),
    ),
  }));
}

const runIn = (runs: readonly ClassRun[], block: number): ClassRun | undefined =>
  runs.find((run) => run.attempt.planned.block === block);

function robustOf(tables: readonly RateTable[], arm: string, className: string): RobustEstimate | null {
  const table = tables.find((each) => each.class === className);
  const differences = table === undefined ? [] : logRatios(table, table.arms.indexOf(arm));
  const found = hodgesLehmann(differences);
  const paired = pairedEstimate(differences);
  if (found === null || paired === null) return null;
  const [low, high] = found.interval;
  return {
    ratio: [Math.exp(low), Math.exp(found.estimate), Math.exp(high)],
    // Normal noise parts the two by so much once in fifty; one wild block moves the mean by a whole standard error.
    outlierDriven: Math.abs(found.estimate - paired.mean) > (0.5 * paired.sd) / Math.sqrt(paired.n),
  };
}

/** Of the arms that ran in every block; a prompt counts where each of them has a rate for it. */
function componentsOf(table: RateTable, runsOf: RunsOf, screen: number): Omit<ClassComponents, 'class'> {
  const { columns, rows } = completePart(table);
  const runs = columns.map((column) => runsOf(table.arms[column] ?? '', table.class));
  const requests = table.blocks.map((_, index) => {
    const rates = runs.map((each) => requestRates(runIn(each, screen + index + 1)));
    const prompts = [...(rates[0]?.keys() ?? [])].filter((prompt) => rates.every((each) => each.has(prompt)));
    return prompts.map((prompt) => rates.map((each) => each.get(prompt) ?? 0));
  });
  return varianceComponents(rows, requests);
}

function requestRates(run: ClassRun | undefined): Map<string, number> {
  return new Map(
    (run?.windows ?? []).flatMap(({ prompt, result }): [string, number][] => {
      const { tokens, decodeMs } = result;
      return tokens < 2 || decodeMs === null || decodeMs <= 0
        ? []
        : [[prompt, Math.log((tokens - 1) / decodeMs)]];
    }),
  );
}

/** What is kept of a test in a verdict. */
export function recordedTest(test: SpeedTest | null, unequal: boolean): ComparisonTest | null {
  if (test === null) return null;
  const { method, level, df, sd, n, mean, pooledArms, share, holmP } = test;
  const p = holmP ?? dunnettP((mean * Math.sqrt(n)) / sd, pooledArms, df);
  return { method, p: Math.min(1, p / share), level, df, sd, unequal };
}

export function spreadInterval(finding: SpreadFinding | undefined): Interval | null {
  const spread = finding?.spread ?? null;
  return spread === null ? null : [spread.interval[0], spread.sd, spread.interval[1]];
}
