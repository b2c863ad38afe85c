// What `rota run` is about to do, before anything runs: arms, order, time, and what it will be able to see.

import { commandLine } from '../core/command-line.ts';
import { rerunsOf } from '../core/design/guard.ts';
import { armLabel } from '../core/records/arm-label.ts';
import type { Plan } from '../core/records/plan.ts';
import { percent, plural } from '../core/verdict/lines.ts';
import { minutes } from './format.ts';
import { fold, inLook, type Look } from './paint.ts';
import { drawTable } from './table.ts';

export function planReport(plan: Plan, look: Look): string {
  const { paint } = look;
  const classes = plan.workloads.length;
  const size = [
    plural(plan.arms.length, 'arm'),
    plural(classes, 'class', 'classes'),
    plural(plan.blocks, 'block'),
    plural(plan.runs.length, 'run'),
    minutes(plan.expectedMinutes),
  ];
  const parts = [
    `${paint.bold(plan.protocol)}  ${size.join(' · ')}`,
    fold(sensitivity(plan), look.width, '  '),
    arms(plan, look),
    drawTable(ORDER, orderRows(plan)),
    drawTable(WORK, workRows(plan)),
    ...backgroundLines(plan).map((line) => fold(line, look.width, '  ')),
    ...stopLines(plan).map((line) => fold(line, look.width, '  ')),
    ...(guardLine(plan) === null ? [] : [fold(guardLine(plan) ?? '', look.width, '  ')]),
  ];
  return `${inLook(parts.join('\n\n'), look)}\n`;
}

/** What these blocks can see, in one sentence, and why. */
export function sensitivity(plan: Plan): string {
  const { minDetectableEffect: effect, assumedSpread: spread, blocks } = plan;
  const comparisons = (plan.arms.length - 1) * plan.workloads.length;
  if (effect === null || effect > 1) {
    return `${plural(blocks, 'block')} cannot tell a difference from noise: ask for at least 4`;
  }
  const few = blocks < 4 ? '; with fewer than 4 blocks the spread itself is hardly known' : '';
  return `${plural(blocks, 'block')} can see differences of ${percent(effect)} or more (80 % power, ${plural(comparisons, 'comparison')}) at a spread of ${percent(spread.value)} between paired runs (${spread.source})${few}`;
}

function arms(plan: Plan, look: Look): string {
  const names = plan.arms.map((arm) => (arm.name === plan.baseline ? `${arm.name} (baseline)` : arm.name));
  const width = Math.max(...names.map((name) => name.length));
  return plan.arms
    .map((arm, index) => {
      const label = armLabel(arm) === '' ? '' : `  ${armLabel(arm)}`;
      const indent = ' '.repeat(width + 2);
      const text = `${commandLine(arm.argv, arm.env)}${label}`;
      return fold(`${(names[index] ?? '').padEnd(width)}  ${text}`, look.width, indent);
    })
    .join('\n');
}

/** When it may end before its last block, and which arms may. */
function stopLines({ stop, sweep, margin }: Plan): string[] {
  const last = stop?.looks.at(-1);
  const enough = stop?.precision == null ? 'decided' : `known to ${percent(stop.precision)}`;
  return [
    ...(sweep === undefined
      ? []
      : [
          `sweep: after ${plural(sweep.screen, 'block')} arms that cannot be faster by ${percent(margin)} are left out; only the blocks after them are in the claim`,
        ]),
    ...(stop === undefined
      ? []
      : [
          `looks after ${stop.looks.join(', ')} of ${plural(last ?? 0, 'block')} (O’Brien–Fleming spending): stops when every comparison is ${enough}, equivalent, or hopeless at this noise`,
        ]),
  ];
}

/** What is to run beside the runs, and when. */
function backgroundLines({ background, blocks }: Plan): string[] {
  if (background === undefined) return [];
  const { name, argv, env, blocks: chosen } = background;
  const when =
    chosen.length === blocks
      ? 'every run'
      : `the runs of ${plural(chosen.length, 'block')} (${chosen.join(', ')})`;
  return [`background: ${name} runs beside ${when}, a factor that no guard minds: ${commandLine(argv, env)}`];
}

/** What happens to a block that others disturb, where more than a flag does. */
function guardLine({ guards }: Plan): string | null {
  const what = {
    flag: null,
    rerun: `its block is measured again whole, at most ${rerunsOf(guards)} times; every try stays on file`,
    abort: 'the session ends; it can be resumed',
  }[guards.onTrip ?? 'flag'];
  if (what === null) return null;
  const limits = `${percent(guards.foreignCpuShare)} of all cores, or ${guards.foreignGpuPercent} % of a GPU`;
  return `guard: when other programs use more than ${limits}, in a measured window of any arm, ${what}`;
}

const ORDER = [
  { head: 'block', align: 'right' },
  { head: 'order', align: 'left' },
] as const;

function orderRows(plan: Plan): string[][] {
  return Array.from({ length: plan.blocks }, (_, index) => {
    const runs = plan.runs.filter((run) => run.block === index + 1).sort((a, b) => a.position - b.position);
    return [String(index + 1), runs.map((run) => run.arm).join(', ')];
  });
}

const WORK = [
  { head: 'class', align: 'left' },
  { head: 'prompts a block', align: 'right' },
  { head: 'tokens each', align: 'right' },
  { head: 'warm-up prompts', align: 'right' },
] as const;

function workRows(plan: Plan): string[][] {
  return plan.workloads.map((workload) => [
    workload.class,
    String(workload.promptsByBlock[0]?.length ?? 0),
    `${workload.ignoreEos ? '' : 'up to '}${workload.maxNew}`,
    String(workload.warmupPrompts.length),
  ]);
}
