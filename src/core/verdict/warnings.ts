// What a reader must know before believing the table. Reads the record, decides no verdict.

import { brokenIdentities, type Violation } from '../counters/identities.ts';
import { ledgerViolations } from '../counters/ledger-sums.ts';
import { maxKnown } from '../known.ts';
import type { CountingRule } from '../records/answer.ts';
import type { Plan } from '../records/plan.ts';
import type { ArmClassVerdict } from '../records/verdict.ts';
import { isHostDevice } from '../roofline/ceiling.ts';
import { calibrationWarnings } from './calibration.ts';
import { sumsOf } from './causes.ts';
import { reorderedBlocks } from './executed.ts';
import { foreignLoadWarnings, mostBy, programsOf } from './foreign-load.ts';
import { listed, percent, plural } from './lines.ts';
import type { MachineFindings } from './machine.ts';
import { type Attempt, measuredWindows, type Replay, type Window } from './replay.ts';
import type { SelfCheck } from './self-check.ts';

/** The words of Counters themselves; an engine that counts otherwise says so in its descriptor. */
const OWN_RULE: CountingRule = { file: 'disjoint', unit: 'lookup' };

export interface BrokenWindow {
  readonly window: Window;
  readonly violations: readonly Violation[];
}

export function brokenWindows(plan: Plan, runs: readonly Attempt[]): BrokenWindow[] {
  return runs.flatMap((attempt) => {
    const rule = plan.arms.find((arm) => arm.name === attempt.planned.arm)?.counting ?? OWN_RULE;
    const shape = { moeLayers: attempt.ready?.moeLayers ?? null, topK: attempt.ready?.topK ?? null };
    return measuredWindows(attempt)
      .map((window) => ({
        window,
        violations: [...brokenIdentities(window.result, shape, rule), ...againstLedger(attempt, window)],
      }))
      .filter(({ violations }) => violations.length > 0);
  });
}

function againstLedger(attempt: Attempt, window: Window): Violation[] {
  const sums = sumsOf(attempt, window);
  return sums === null ? [] : ledgerViolations(window.result.counters, sums);
}

const nameOf = (window: Window): string => `${window.run} ${window.class} ${window.prompt}`;

export interface Facts {
  readonly plan: Plan;
  readonly replay: Replay;
  readonly ok: readonly Attempt[];
  readonly device: string | null;
  readonly broken: readonly BrokenWindow[];
  readonly self: SelfCheck;
  /** `b1.p1.base prose: no token came …` */
  readonly rateProblems: readonly string[];
  readonly rows: readonly ArmClassVerdict[];
  readonly machine: MachineFindings;
  /** Runs that count in the order in which they were started. */
  readonly executed: readonly string[];
}

/** In a fixed order, the gravest first. */
export function warningsOf(facts: Facts): string[] {
  return [
    ...identityWarnings(facts.broken),
    ...unfinishedRuns(facts.replay),
    ...facts.rateProblems.map((text) => `no rate for ${text}`),
    ...ceilingWarnings(facts.rows),
    ...foreignLoad(facts),
    ...foreignLoadWarnings(facts.machine.foreignLoad, facts.plan.guards),
    ...calibrationWarnings(facts.machine.calibration),
    ...orderWarnings(facts),
    ...otherFlags(facts.ok),
    ...notSteady(facts.ok),
    ...memoryKept(facts.ok),
    ...ledgerGaps(facts),
    ...baselineDoubts(facts.self),
    ...deadKnobs(facts.rows),
    ...whatItMeans(facts),
  ];
}

function identityWarnings(broken: readonly BrokenWindow[]): string[] {
  const texts = broken.map(
    ({ window, violations }) => `${nameOf(window)}: ${violations.map(({ text }) => text).join('; ')}`,
  );
  return texts.length === 0
    ? []
    : [`counters contradict themselves in ${plural(texts.length, 'window')}: ${listed(texts)}`];
}

function unfinishedRuns({ runs }: Replay): string[] {
  return runs.flatMap(({ planned, attempts, ok }) => {
    if (ok !== null) return [];
    const last = attempts.at(-1);
    if (last === undefined) return [`${planned.id} was never run`];
    return [`${planned.id} is void: ${last.end?.reason ?? 'the record breaks off'}`];
  });
}

function ceilingWarnings(rows: readonly ArmClassVerdict[]): string[] {
  const above = rows.flatMap(({ arm, class: name, ceilingShare }) =>
    ceilingShare !== null && ceilingShare > 1 ? [`${arm} ${name} ${percent(ceilingShare)}`] : [],
  );
  if (above.length === 0) return [];
  return [
    `more than the ceiling is impossible: the subject fits a cache or the ceiling was mismeasured: ${listed(above)}`,
  ];
}

function foreignLoad({ plan, ok }: Facts): string[] {
  const windows = ok.flatMap(measuredWindows);
  const { foreignCpuShare: limit, foreignGpuPercent } = plan.guards;
  const loaded = windows.filter((window) => (window.load.foreignCpuShare ?? 0) > limit);
  const programs = programsOf(loaded);
  const largest = maxKnown(loaded.map((window) => window.load.foreignCpuShare));
  const unknown = windows.filter((window) => window.load.foreignCpuShare === null).length;
  const shared = windows.filter((window) =>
    window.load.gpus?.some(
      (gpu) => (gpu.foreignMemoryBytes ?? 0) > 0 && (gpu.utilizationPercent ?? 0) > foreignGpuPercent,
    ),
  );
  return [
    ...(loaded.length === 0 || largest === null
      ? []
      : [
          `other programs used more than ${percent(limit)} of all cores in ${loaded.length} of ${windows.length} windows, at most ${percent(largest)}${programs.length === 0 ? '' : `, ${mostBy(programs)}`}: ${listed(loaded.map(nameOf))}`,
        ]),
    ...(shared.length === 0
      ? []
      : [
          `other programs were on a busy GPU in ${shared.length} of ${windows.length} windows: ${listed(shared.map(nameOf))}`,
        ]),
    ...(unknown === 0 ? [] : [`foreign load is unknown in ${unknown} of ${windows.length} windows`]),
  ];
}

/** Repeated runs come at the end of their block. */
function orderWarnings({ plan, executed }: Facts): string[] {
  const blocks = reorderedBlocks(plan, executed);
  if (blocks.length === 0) return [];
  return [`repeated runs changed the order of ${plural(blocks.length, 'block')}: ${blocks.join(', ')}`];
}

/** Told elsewhere with their numbers. */
const TOLD = [/^foreign /, /^counters contradict/, /^no token came/];

/** Flags that the windows carry, by name. */
function otherFlags(ok: readonly Attempt[]): string[] {
  const byFlag = new Map<string, Window[]>();
  for (const window of ok.flatMap(measuredWindows)) {
    for (const flag of window.flags) {
      if (TOLD.some((words) => words.test(flag))) continue;
      byFlag.set(flag, [...(byFlag.get(flag) ?? []), window]);
    }
  }
  return [...byFlag]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([flag, windows]) => `${flag} in ${plural(windows.length, 'window')}: ${listed(windows.map(nameOf))}`,
    );
}

function notSteady(ok: readonly Attempt[]): string[] {
  const runs = ok.filter((attempt) => attempt.warmup !== null && !attempt.warmup.steady);
  if (runs.length === 0) return [];
  const texts = runs.map((attempt) => `${attempt.planned.id} (${attempt.warmup?.reason})`);
  return [`not steady when measured in ${runs.length} of ${ok.length} runs: ${listed(texts)}`];
}

function memoryKept(ok: readonly Attempt[]): string[] {
  const runs = ok
    .filter((attempt) => attempt.end?.memoryReleased === false)
    .map((attempt) => attempt.planned.id);
  return runs.length === 0 ? [] : [`memory was not given back in time after ${listed(runs)}`];
}

/** A planned ledger that lacks a run or a window. */
function ledgerGaps({ plan, ok }: Facts): string[] {
  const gaps = ok.filter((attempt) => {
    const arm = plan.arms.find(({ name }) => name === attempt.planned.arm);
    if (arm?.ledgerFlag === undefined) return false;
    return measuredWindows(attempt).some(
      (window) => (window.result.counters.passes ?? 0) > 0 && sumsOf(attempt, window) === null,
    );
  });
  if (gaps.length === 0) return [];
  return [
    `the ledger has gaps in ${listed(gaps.map(({ planned }) => planned.id))}: rota fit leaves them out`,
  ];
}

function baselineDoubts(self: SelfCheck): string[] {
  if (self.state !== 'differs') return [];
  return [`the baseline does not repeat itself: ${self.prompt} gave other ids in another start`];
}

function deadKnobs(rows: readonly ArmClassVerdict[]): string[] {
  const dead = new Map(
    rows.flatMap(({ arm, deadKnobs: names }) => (names === undefined ? [] : [[arm, names]])),
  );
  return [...dead].map(([arm, names]) =>
    names.length === 1
      ? `dead knob: ${arm} sets ${names[0]}, and no counter, byte, log line or token changed`
      : `dead knobs: ${arm} sets ${names.join(', ')}, and no counter, byte, log line or token changed`,
  );
}

function whatItMeans({ device, ok, replay }: Facts): string[] {
  const notes: string[] = [];
  if (isHostDevice(device)) notes.push('measured on the host device: host numbers are not GPU numbers');
  const subjects = new Map(
    ok.flatMap(({ planned, ready }) => (ready?.subject === undefined ? [] : [[planned.arm, ready.subject]])),
  );
  for (const subject of new Set(subjects.values())) {
    const arms = [...subjects].filter(([, each]) => each === subject).map(([arm]) => arm);
    notes.push(`${subject} (${listed(arms)})`);
  }
  const weights = maxKnown(ok.map((attempt) => attempt.ready?.weightBytes ?? null));
  const cache = maxKnown(replay.sessions.map((session) => cacheBytes(session.machine)));
  if (weights !== null && cache !== null && weights <= cache) {
    notes.push(
      `the weights (${megabytes(weights)}) fit the last-level cache (${megabytes(cache)}): not a memory-bandwidth result`,
    );
  }
  if (replay.sessions.length > 1) notes.push(`measured in ${replay.sessions.length} sessions`);
  return notes;
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

/** The machine card belongs to another room; of it only this one number is read. */
function cacheBytes(machine: unknown): number | null {
  if (typeof machine !== 'object' || machine === null || !('lastLevelCacheBytes' in machine)) return null;
  const bytes = machine.lastLevelCacheBytes;
  return typeof bytes === 'number' && bytes > 0 ? bytes : null;
}
