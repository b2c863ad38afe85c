// Owns the names inside results/: one folder a run, and what lies in it. Writes nothing but the folder and its plan.

import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Plan } from '../core/records/plan.ts';
import { stableJson } from '../core/stable-json.ts';
import { makeFolder, syncFolder, writeWhole } from './files.ts';

export interface RunFolder {
  readonly path: string;
  /** The folder's own name: what a user types. */
  readonly name: string;
  readonly plan: string;
  readonly journal: string;
  readonly torn: string;
  readonly telemetry: string;
  readonly logs: string;
  readonly ledgers: string;
  readonly verdict: string;
}

export function runFolder(folder: string): RunFolder {
  const at = (name: string): string => path.join(folder, name);
  return {
    path: folder,
    name: path.basename(folder),
    plan: at('plan.json'),
    journal: at('journal.jsonl'),
    torn: at('journal.torn'),
    telemetry: at('telemetry.jsonl'),
    logs: at('logs'),
    ledgers: at('ledger'),
    verdict: at('verdict.json'),
  };
}

/** `2026-09-29T101530Z-first-light-3f9c2a`: sorts by time, and has no colon, which some file systems refuse. */
export function folderName(plan: Pick<Plan, 'createdUtc' | 'protocol'>, id: string): string {
  const utc = plan.createdUtc.replace(/\.\d+Z$/, 'Z').replaceAll(':', '');
  return `${utc}-${plan.protocol}-${id}`;
}

/** The plan is on the disk before anything runs: what was meant to be measured cannot be chosen afterwards. */
export function createRunFolder(results: string, plan: Plan, id: string): RunFolder {
  const folder = runFolder(path.join(results, folderName(plan, id)));
  makeFolder(results);
  mkdirSync(folder.path);
  mkdirSync(folder.logs);
  try {
    writeWhole(folder.plan, stableJson(plan), 'start it again, or pass --results');
  } catch (error) {
    rmSync(folder.path, { recursive: true, force: true });
    throw error;
  }
  syncFolder(results);
  return folder;
}
