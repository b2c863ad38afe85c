// What others did to a measurement: tries that were spoilt, blocks that count although they were disturbed, and the words for both. Sees
// the load of others alone, by the rule of the plan: no arm, no rate.

import { trips } from '../design/guard.ts';
import type { Known } from '../known.ts';
import type { ForeignProgram } from '../records/journal.ts';
import type { Guards, Plan } from '../records/plan.ts';
import type { DisturbedBlock, ForeignLoad, SpeedVerdict } from '../records/verdict.ts';
import type { ClassRun } from './aggregate.ts';
import { listed, percent, plural, ratioParts } from './lines.ts';
import { type Attempt, goodAttempts, measuredWindows, type Replay, type Window } from './replay.ts';
import type { SpeedFinding } from './speed.ts';

/** Undefined: nobody disturbed anything that is known of. */
export function foreignLoadOf(plan: Plan, record: Replay): ForeignLoad | undefined {
  const { spoilt } = record;
  const ok = goodAttempts(record);
  const blocks = [...new Set(ok.map(({ planned }) => planned.block))].sort((a, b) => a - b);
  const disturbed = blocks.flatMap((block) => {
    const tries = 1 + spoilt.filter((each) => each.block === block).length;
    return disturbedBlock(plan.guards, block, tries, measuredIn(block, ok));
  });
  if (spoilt.length === 0 && disturbed.length === 0) return undefined;
  return {
    spoilt: spoilt.map(({ block, try: number, run, reason }) => ({ block, try: number, run, reason })),
    disturbed,
  };
}

function measuredIn(block: number, ok: readonly Attempt[]): Window[] {
  return ok.filter(({ planned }) => planned.block === block).flatMap(measuredWindows);
}

function disturbedBlock(
  guards: Guards,
  block: number,
  tries: number,
  windows: readonly Window[],
): DisturbedBlock[] {
  if (!windows.some(({ load }) => trips(load, guards).length > 0)) return [];
  const cores = (of: (load: Window['load']) => number | null | undefined): Known =>
    byLength(windows, ({ load }) => {
      const share = of(load) ?? null;
      return share === null || load.cores === undefined ? null : share * load.cores;
    });
  return [
    {
      block,
      tries,
      foreignCores: cores(({ foreignCpuShare }) => foreignCpuShare),
      foreignCpuShare: byLength(windows, ({ load }) => load.foreignCpuShare),
      stolenCores: cores(({ stolenCpuShare }) => stolenCpuShare),
      programs: programsOf(windows),
    },
  ];
}

/** A mean over windows by how long each took, of those that know the number. */
export function byLength(windows: readonly Window[], of: (window: Window) => Known): Known {
  let sum = 0;
  let length = 0;
  for (const window of windows) {
    const value = of(window);
    if (value === null) continue;
    sum += value * window.wallMs;
    length += window.wallMs;
  }
  return length === 0 ? null : sum / length;
}

const NAMED = 3;

/** Means over the windows by their length, the largest first. */
export function programsOf(windows: readonly Window[]): ForeignProgram[] {
  const named = windows.filter(({ load }) => load.foreignPrograms !== undefined);
  const length = named.reduce((sum, { wallMs }) => sum + wallMs, 0);
  const cores = new Map<string, number>();
  for (const { load, wallMs } of named)
    for (const { name, cores: each } of load.foreignPrograms ?? [])
      cores.set(name, (cores.get(name) ?? 0) + (each * wallMs) / length);
  return [...cores]
    .map(([name, each]) => ({ name, cores: each }))
    .sort((a, b) => b.cores - a.cores || (a.name < b.name ? -1 : 1))
    .slice(0, NAMED);
}

/** `1.2 foreign cores`, or what else is known of a load. `most`: of several. */
export function coresText({ foreignCores, foreignCpuShare }: DisturbedBlock, most = ''): string {
  if (foreignCores !== null) return `${most}${foreignCores.toFixed(1)} foreign cores`;
  return foreignCpuShare === null
    ? 'others on a busy GPU'
    : `others on ${most}${percent(foreignCpuShare)} of all cores`;
}

/** Behind the sentence about an arm; empty when no block that it is judged by was disturbed. */
export function besideWords(load: ForeignLoad | undefined, blocks: readonly number[]): string {
  const disturbed = (load?.disturbed ?? []).filter(({ block }) => blocks.includes(block));
  const [first] = [...disturbed].sort((a, b) => (b.foreignCpuShare ?? 0) - (a.foreignCpuShare ?? 0));
  if (first === undefined) return '';
  const most = disturbed.length > 1 ? 'up to ' : '';
  return `; measured beside ${coresText(first, most)} in ${disturbed.length} of ${plural(blocks.length, 'block')}`;
}

type RunsOf = (arm: string, className: string) => readonly ClassRun[];

/** The runs of blocks that nobody disturbed; null where all were left alone. */
export function calmRuns(load: ForeignLoad | undefined, runsOf: RunsOf): RunsOf | null {
  const disturbed = new Set((load?.disturbed ?? []).map(({ block }) => block));
  if (disturbed.size === 0) return null;
  return (arm, name) => runsOf(arm, name).filter(({ attempt }) => !disturbed.has(attempt.planned.block));
}

/** What these blocks say by themselves, and its word where that is another; empty where they are too few to say anything. */
export function aloneWords(word: SpeedVerdict, alone: SpeedFinding | undefined): string {
  if (alone === undefined || alone.ratio === null) return '';
  const { ratio, interval } = ratioParts(alone.ratio);
  return `; in the others ${ratio} (${interval})${alone.speed === word ? '' : `, ${alone.speed}`}`;
}

/** What a reader must know: first what does not count, then what does although it was disturbed. */
export function foreignLoadWarnings(load: ForeignLoad | undefined, guards: Guards): string[] {
  const { spoilt = [], disturbed = [] } = load ?? {};
  const tries = spoilt.map(({ run, try: number, reason }) => `${run}, try ${number}: ${reason}`);
  return [
    ...(tries.length === 0
      ? []
      : [
          `${plural(tries.length, 'try', 'tries')} of blocks spoilt by others, measured again and not counted: ${listed(tries, '; ')}`,
        ]),
    // What its protocol only flags is told window by window.
    ...(guards.onTrip === 'rerun' ? disturbed.map(disturbedText) : []),
  ];
}

function disturbedText(block: DisturbedBlock): string {
  const stolen =
    block.stolenCores !== null && block.stolenCores >= 0.05
      ? [`${block.stolenCores.toFixed(1)} of them taken by the hypervisor`]
      : [];
  const parts = [...(block.programs.length === 0 ? [] : [mostBy(block.programs)]), ...stolen];
  const which = parts.length === 0 ? '' : ` (${parts.join('; ')})`;
  const tries = plural(block.tries, 'try', 'tries');
  return `block ${block.block} was measured beside ${coresText(block)}${which}, ${tries}: the load could not be avoided`;
}

export function mostBy(programs: readonly ForeignProgram[]): string {
  return `most by ${programs.map(({ name, cores }) => `${name} ${cores.toFixed(1)}`).join(', ')}`;
}
