// What a background that the protocol asked for did: its dose, each arm's effect beside it and without it, and whether the two differ.
// The factor is a block's, so levels are compared by the blocks' paired ratios, in which prompts and hours cancel.

import type { Plan } from '../records/plan.ts';
import type {
  BackgroundEffect,
  BackgroundFinding,
  BackgroundInteraction,
  Interval,
} from '../records/verdict.ts';
import { holm } from '../stats/holm.ts';
import { pairedEstimate, pairedInterval } from '../stats/paired.ts';
import { tQuantile, tTwoSided } from '../stats/student.ts';
import { mean } from '../stats/sums.ts';
import type { ClassRun } from './aggregate.ts';
import { byLength } from './foreign-load.ts';
import { plural, pText, ratioParts } from './lines.ts';
import type { Window } from './replay.ts';

const ALPHA = 0.05;

type RunsOf = (arm: string, className: string) => readonly ClassRun[];

export function backgroundOf(plan: Plan, runsOf: RunsOf): BackgroundFinding | undefined {
  const { background } = plan;
  if (background === undefined) return undefined;
  const isBeside = (block: number): boolean => background.blocks.includes(block);
  const arms = plan.arms.filter(({ name }) => name !== plan.baseline).map(({ name }) => name);
  const cells = plan.workloads.flatMap(({ class: name }) =>
    arms.map((arm) => ({ arm, class: name, pairs: logRatiosOf(runsOf, plan.baseline, arm, name) })),
  );
  const levels = cells.map(({ arm, class: name, pairs }) =>
    [true, false].map((beside) => {
      const values = pairs.filter(({ block }) => isBeside(block) === beside).map(({ value }) => value);
      return { effect: effectOf({ arm, class: name, beside }, values), values };
    }),
  );
  const interactions = background.blocks.length === plan.blocks ? [] : interactionsOf(cells, levels);
  const effects = levels
    .flatMap((pair) => pair.map(({ effect }) => effect))
    .filter(({ blocks }) => blocks > 0);
  const windowsOf = (of: readonly string[]): Window[] =>
    plan.workloads.flatMap(({ class: name }) =>
      of
        .flatMap((arm) => runsOf(arm, name))
        .filter(({ attempt }) => isBeside(attempt.planned.block))
        .flatMap(({ windows }) => windows),
    );
  const names = plan.arms.map(({ name }) => name);
  const finding = {
    name: background.name,
    blocks: background.blocks,
    cores: coresOf(windowsOf(names)),
    readBytesPerSec: byLength(windowsOf(names), readRate),
    coresByArm: names.map((arm) => ({ arm, cores: coresOf(windowsOf([arm])) })),
    effects,
    interactions,
  };
  return {
    ...finding,
    lines: cells.map((cell) => ({ arm: cell.arm, class: cell.class, line: lineOf(finding, cell) })),
  };
}

/** ln(arm / baseline) of each block that has both. */
function logRatiosOf(
  runsOf: RunsOf,
  baseline: string,
  arm: string,
  className: string,
): { readonly block: number; readonly value: number }[] {
  const rates = new Map(
    runsOf(baseline, className).map((run) => [run.attempt.planned.block, run.tokPerSec] as const),
  );
  return runsOf(arm, className).flatMap(({ attempt, tokPerSec: own }) => {
    const { block } = attempt.planned;
    const base = rates.get(block) ?? null;
    return own === null || base === null || own <= 0 || base <= 0
      ? []
      : [{ block, value: Math.log(own / base) }];
  });
}

function effectOf(
  of: Pick<BackgroundEffect, 'arm' | 'class' | 'beside'>,
  values: readonly number[],
): BackgroundEffect {
  const estimate = pairedEstimate(values);
  if (estimate === null) return { ...of, blocks: values.length, ratio: null };
  const [low, high] = pairedInterval(estimate, ALPHA);
  return { ...of, blocks: values.length, ratio: [Math.exp(low), Math.exp(estimate.mean), Math.exp(high)] };
}

interface Cell {
  readonly arm: string;
  readonly class: string;
}

/** The t test of two groups of blocks with one spread; Holm over arms and classes. */
function interactionsOf(
  cells: readonly Cell[],
  levels: readonly (readonly { readonly values: readonly number[] }[])[],
): BackgroundInteraction[] {
  const tests = levels.map(([beside, without]) => twoGroups(beside?.values ?? [], without?.values ?? []));
  const steps = holm(
    tests.map((test) => test?.p ?? 1),
    ALPHA,
  );
  return cells.map(({ arm, class: name }, index): BackgroundInteraction => {
    const test = tests[index] ?? null;
    if (test === null) return { arm, class: name, ratio: null, p: null };
    return { arm, class: name, ratio: test.ratio, p: steps[index]?.adjusted ?? null };
  });
}

function twoGroups(
  a: readonly number[],
  b: readonly number[],
): { readonly ratio: Interval; readonly p: number } | null {
  const df = a.length + b.length - 2;
  if (a.length === 0 || b.length === 0 || df < 1) return null;
  const [meanA, meanB] = [mean(a), mean(b)];
  const squares = [...a.map((x) => (x - meanA) ** 2), ...b.map((x) => (x - meanB) ** 2)];
  const error = Math.sqrt((squares.reduce((s, x) => s + x, 0) / df) * (1 / a.length + 1 / b.length));
  if (error <= 1e-12) return null;
  const half = tQuantile(1 - ALPHA / 2, df) * error;
  const difference = meanA - meanB;
  const ratio: Interval = [Math.exp(difference - half), Math.exp(difference), Math.exp(difference + half)];
  return { ratio, p: tTwoSided(difference / error, df) };
}

const coresOf = (windows: readonly Window[]) =>
  byLength(windows, ({ load }) =>
    load.backgroundCpuShare === undefined || load.cores === undefined
      ? null
      : load.backgroundCpuShare * load.cores,
  );

const readRate = ({ load, wallMs }: Window): number | null =>
  load.backgroundReadBytes == null || wallMs <= 0 ? null : (1000 * load.backgroundReadBytes) / wallMs;

/** `1.10× (1.05–1.15) beside neighbour (0.9 cores) in 4 blocks, 1.40× (…) without it in 4: the effect depends on it (p 0.003)` */
function lineOf(
  {
    name,
    cores,
    effects,
    interactions,
  }: Pick<BackgroundFinding, 'name' | 'cores' | 'effects' | 'interactions'>,
  cell: Cell,
): string {
  const isCell = (each: Cell): boolean => each.arm === cell.arm && each.class === cell.class;
  const dose = cores === null ? '' : ` (${cores.toFixed(1)} cores)`;
  const parts = effects.filter(isCell).map(({ beside, blocks, ratio }) => {
    const effect =
      ratio === null ? 'not known' : `${ratioParts(ratio).ratio} (${ratioParts(ratio).interval})`;
    return `${effect} ${beside ? `beside ${name}${dose}` : 'without it'} in ${plural(blocks, 'block')}`;
  });
  const test = interactions.find(isCell);
  return `${parts.join(', ')}${test === undefined ? '' : `: ${interactionWords(test)}`}`;
}

function interactionWords({ ratio, p }: BackgroundInteraction): string {
  if (ratio === null || p === null) return 'too few blocks to say whether the effect depends on it';
  const { ratio: change, interval } = ratioParts(ratio);
  const value = pText(p);
  return p < ALPHA
    ? `the effect depends on it, by ${change} (${interval}, ${value})`
    : `whether the effect depends on it is open: ${change} (${interval}, ${value})`;
}
