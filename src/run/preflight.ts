// Owns what is looked at before an hour is spent: that everything a plan needs is there, and what else the machine does now.

import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import path from 'node:path';
import { EngineError, UserError } from '../core/errors.ts';
import type { OnTrip, Plan } from '../core/records/plan.ts';
import { buildCommand } from '../engines/build.ts';
import { type Environment, inheritedNotice } from '../engines/environment.ts';
import type { Clock } from '../machine/clock.ts';
import { loadBetween } from '../machine/load-between.ts';
import { physicalDisks, readSnapshot } from '../machine/load-snapshot.ts';
import type { EngineDescriptor } from '../schema/descriptor.ts';

/** Journal, telemetry and logs of a long session stay far below this. */
const NEEDED_BYTES = 200 * 1024 ** 2;

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isOnPath(program: string): boolean {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  return folders.some((folder) => isExecutable(path.join(folder, program)));
}

function missingProgram(program: string): boolean {
  return program.includes(path.sep) ? !isExecutable(program) : !isOnPath(program);
}

/** Throws the first thing that would make every run fail. */
export function checkNeeds(
  plan: Plan,
  results: string,
  descriptorOf: (engine: string) => EngineDescriptor,
): void {
  for (const arm of plan.arms) {
    for (const program of new Set([arm.argv[0] ?? '', ...binariesOf(arm.argv)])) {
      if (!missingProgram(program)) continue;
      const remedy = buildCommand(descriptorOf(arm.engine), arm.knobs);
      throw new EngineError(`${program} is missing or not executable: ${remedy}`, { phase: 'preflight' });
    }
    if (!existsSync(arm.model)) {
      throw new UserError('no such model', { where: arm.model, hint: `arm ${arm.name} would serve it` });
    }
  }
  const [beside] = plan.background?.argv ?? [];
  if (beside !== undefined && missingProgram(beside))
    throw new EngineError(`${beside}, the background, is missing or not executable`, { phase: 'preflight' });
  const disk = statfsSync(results);
  const free = disk.bavail * disk.bsize;
  if (free < NEEDED_BYTES) {
    const mib = Math.floor(free / 1024 ** 2);
    throw new EngineError(
      `only ${mib} MiB are free in ${results}, 200 MiB are needed: free some, or pass --results`,
      {
        phase: 'preflight',
      },
    );
  }
}

/** Behind a launcher prefix the engine's own program is a later word. */
function binariesOf(argv: readonly string[]): string[] {
  return argv.filter((word) => path.isAbsolute(word) && path.basename(word).startsWith('rota-'));
}

const LOOK_MS = 500;

const AS_PLANNED: Readonly<Record<OnTrip, string>> = {
  flag: 'will be flagged',
  rerun: 'will have their block measured again',
  abort: 'will end the session',
};

/** What others do to this machine now. `null` when all is quiet or nothing can be read. */
export async function foreignLoadNow(
  plan: Plan,
  clock: Clock,
  helpers: readonly number[],
): Promise<string | null> {
  const scope = { engine: null, background: null, helpers, disks: physicalDisks() };
  const start = readSnapshot(scope, clock.monotonicMs, 'start');
  await clock.sleep(LOOK_MS);
  const { foreignCpuShare } = loadBetween(start, readSnapshot(scope, clock.monotonicMs, 'end'));
  if (foreignCpuShare === null || foreignCpuShare <= plan.guards.foreignCpuShare) return null;
  const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
  return `other programs use ${percent(foreignCpuShare)} of all cores now; windows above ${percent(plan.guards.foreignCpuShare)} ${AS_PLANNED[plan.guards.onTrip ?? 'flag']}`;
}

/** One line for each engine whose knobs somebody set in the environment, where no arm would show them. */
export function inheritedNotices(
  plan: Plan,
  descriptorOf: (engine: string) => EngineDescriptor,
  environment: Environment = process.env,
): string[] {
  const engines = [...new Set(plan.arms.map((arm) => arm.engine))];
  return engines.flatMap((engine) => inheritedNotice(descriptorOf(engine).knobs, environment) ?? []);
}
