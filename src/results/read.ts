// Owns reading a run back: plan, journal and verdict of one folder. Changes nothing.

import { readFileSync } from 'node:fs';
import { InvalidRecordError } from '../core/errors.ts';
import type { Plan } from '../core/records/plan.ts';
import type { Verdict } from '../core/records/verdict.ts';
import { type JournalContent, readJournal } from './journal.ts';
import type { RunFolder } from './run-folder.ts';

function readJson(file: string): unknown {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidRecordError(`${file}: is not JSON: the record was altered after it was written`);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

export function readPlan(folder: RunFolder): Plan {
  try {
    const plan = readJson(folder.plan) as Plan;
    if (plan.schemaVersion === 1) return plan;
    throw new InvalidRecordError(
      `${folder.plan}: schema version ${String(plan.schemaVersion)}; this rota reads version 1`,
    );
  } catch (error) {
    if (isMissing(error))
      throw new InvalidRecordError(`${folder.path}: has no plan.json, so it is no run folder`);
    throw error;
  }
}

/** `null` when the run has not ended yet. */
export function readVerdict(folder: RunFolder): Verdict | null {
  try {
    return readJson(folder.verdict) as Verdict;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

export interface RunRecord {
  readonly folder: RunFolder;
  readonly plan: Plan;
  readonly journal: JournalContent;
}

/** Throws InvalidRecordError when the plan or a line of the journal was altered. */
export function readRun(folder: RunFolder): RunRecord {
  return { folder, plan: readPlan(folder), journal: readJournal(folder) };
}
