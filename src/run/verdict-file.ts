// Owns verdict.json: derived from plan and journal, and made again byte for byte.

import { existsSync, readFileSync } from 'node:fs';
import { InvalidRecordError } from '../core/errors.ts';
import type { JournalEvent } from '../core/records/journal.ts';
import type { Plan } from '../core/records/plan.ts';
import type { Verdict } from '../core/records/verdict.ts';
import { stableJson } from '../core/stable-json.ts';
import { computeVerdict } from '../core/verdict/verdict.ts';
import { writeWhole } from '../results/files.ts';
import { sha256 } from '../results/journal-line.ts';
import { checkLedgers } from '../results/ledger.ts';
import { readRun } from '../results/read.ts';
import type { RunFolder } from '../results/run-folder.ts';

export interface Derived {
  readonly plan: Plan;
  readonly events: readonly JournalEvent[];
  readonly verdict: Verdict;
}

/** From the record alone. Throws InvalidRecordError when it was altered or contradicts itself. */
export function deriveRecord(folder: RunFolder): Derived {
  const { plan, journal } = readRun(folder);
  const { events, sha256: journalSha256 } = journal;
  const verdict = computeVerdict({ plan, events, runFolder: folder.name, journalSha256, sha256 });
  return { plan, events, verdict };
}

export function deriveVerdict(folder: RunFolder): Verdict {
  return deriveRecord(folder).verdict;
}

export function writeVerdict(folder: RunFolder): Verdict {
  const verdict = deriveVerdict(folder);
  writeWhole(folder.verdict, stableJson(verdict));
  return verdict;
}

/**
 * Makes the verdict again and holds it against the file, and the ledgers against their digests. Without a file (a killed run) it is
 * written; a file that says something else was altered, or written by another version of Rota, and is left as it is.
 */
export function recomputeVerdict(folder: RunFolder): Verdict {
  const { plan, events, verdict } = deriveRecord(folder);
  checkLedgers(
    folder,
    events.flatMap((event) => (event.type === 'run_end' ? (event.ledger ?? []) : [])),
  );
  const text = stableJson(verdict);
  if (!existsSync(folder.verdict)) {
    writeWhole(folder.verdict, text);
    return verdict;
  }
  if (readFileSync(folder.verdict, 'utf8') === text) return verdict;
  throw new InvalidRecordError(
    `${folder.verdict}: does not follow from the journal: it was altered, or written by another rota than ${plan.rota}`,
  );
}
