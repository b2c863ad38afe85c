// Owns the list of runs and finding one by what a user types. Reads a folder's plan and verdict, never its journal.

import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../core/errors.ts';
import type { Verdict } from '../core/records/verdict.ts';
import { readPlan, readVerdict } from './read.ts';
import { type RunFolder, runFolder } from './run-folder.ts';

export interface ListedRun {
  readonly folder: RunFolder;
  readonly protocol: string;
  readonly createdUtc: string;
  readonly arms: readonly string[];
  readonly blocks: number;
  readonly device: string | null;
  /** `unreadable`: the folder is there and its plan or verdict is not what Rota writes. */
  readonly state: 'complete' | 'incomplete' | 'unfinished' | 'unreadable';
  readonly runsOk: number | null;
  readonly runsPlanned: number | null;
  readonly lines: readonly string[];
}

const REFERENCE = 'reference';

/** Newest last. Folders that hold no plan are not runs. */
export function runFolders(results: string): RunFolder[] {
  if (!existsSync(results)) return [];
  return readdirSync(results, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== REFERENCE)
    .map((entry) => runFolder(path.join(results, entry.name)))
    .filter((folder) => existsSync(folder.plan))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function listOne(folder: RunFolder): ListedRun {
  try {
    const plan = readPlan(folder);
    const verdict = readVerdict(folder);
    return {
      folder,
      protocol: plan.protocol,
      createdUtc: plan.createdUtc,
      arms: plan.arms.map((arm) => arm.name),
      blocks: plan.blocks,
      device: verdict?.device ?? null,
      state: verdict === null ? 'unfinished' : verdict.complete ? 'complete' : 'incomplete',
      runsOk: verdict === null ? null : verdict.runs.filter((run) => run.status === 'ok').length,
      runsPlanned: (verdict ?? plan).runs.length,
      lines: verdict?.arms.map((arm) => arm.line) ?? [],
    };
  } catch {
    return {
      folder,
      protocol: folder.name,
      createdUtc: '',
      arms: [],
      blocks: 0,
      device: null,
      state: 'unreadable',
      runsOk: null,
      runsPlanned: null,
      lines: [],
    };
  }
}

/** Every verdict that can be read, oldest first; plans and journals are not looked at, so that a thousand are quick. */
export function allVerdicts(results: string): Verdict[] {
  return runFolders(results).flatMap((folder) => {
    try {
      const verdict = readVerdict(folder);
      return verdict === null ? [] : [verdict];
    } catch {
      // `rota results` lists it as unreadable.
      return [];
    }
  });
}

export function listRuns(results: string): ListedRun[] {
  return runFolders(results).map(listOne);
}

function isFolder(name: string): boolean {
  return existsSync(name) && statSync(name).isDirectory();
}

/**
 * `latest`, a folder's name, the beginning of a name, the six letters at its end, or a path. Ambiguous or unknown words are an
 * error that says what there is.
 */
export function findRun(results: string, word: string): RunFolder {
  if (isFolder(word) && existsSync(path.join(word, 'plan.json'))) return runFolder(path.resolve(word));
  const folders = runFolders(results);
  const newest = folders.at(-1);
  if (newest === undefined) {
    throw new UserError('there are no results yet', { where: results, hint: 'rota run PROTOCOL makes some' });
  }
  if (word === 'latest') return newest;
  const exact = folders.find((folder) => folder.name === word);
  if (exact !== undefined) return exact;
  const matches = folders.filter(
    (folder) => folder.name.startsWith(word) || folder.name.endsWith(`-${word}`),
  );
  const [first, second] = matches;
  if (first !== undefined && second === undefined) return first;
  const some = (matches.length > 0 ? matches : folders).slice(-3).map((folder) => folder.name);
  throw new UserError(
    matches.length > 0 ? `"${word}" fits ${matches.length} runs` : `there is no run "${word}"`,
    {
      where: results,
      hint: `${matches.length > 0 ? 'among them' : 'the newest are'} ${some.join(', ')}`,
    },
  );
}
