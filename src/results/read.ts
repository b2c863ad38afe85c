// Owns reading a run back: plan, journal and verdict of one folder. Changes nothing.

import { InvalidRecordError } from '../core/errors.ts';
import type { Plan } from '../core/records/plan.ts';
import type { Verdict } from '../core/records/verdict.ts';
import { readOrNull } from './files.ts';
import { type JournalContent, readJournal } from './journal.ts';
import type { RunFolder } from './run-folder.ts';
import { planFault, verdictFault } from './shapes.ts';

const ALTERED = 'the record was altered after it was written';

/** Null when there is no such file. */
function readJson(file: string, fault: (value: unknown) => string | null): unknown {
  const bytes = readOrNull(file);
  if (bytes === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new InvalidRecordError(`${file}: is not JSON: ${ALTERED}`);
  }
  const version = isMap(value) ? value['schemaVersion'] : undefined;
  if (typeof version === 'number' && version > 1) {
    throw new InvalidRecordError(`${file}: schema version ${version}; this rota reads version 1`);
  }
  const found = fault(value);
  if (found !== null) throw new InvalidRecordError(`${file}: ${found}: ${ALTERED}`);
  return value;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

export function readPlan(folder: RunFolder): Plan {
  const plan = readJson(folder.plan, planFault);
  if (plan === null) throw new InvalidRecordError(`${folder.path}: has no plan.json, so it is no run folder`);
  return plan as Plan;
}

/** `null` when the run has not ended yet. */
export function readVerdict(folder: RunFolder): Verdict | null {
  return readJson(folder.verdict, verdictFault) as Verdict | null;
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
