// Owns a run's ledger while it is written: where the engine is told to write it, how long it may grow, and what is kept of it.

import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { requestOf } from '../core/counters/raw-answer.ts';
import { EngineError } from '../core/errors.ts';
import type { JournalEvent } from '../core/records/journal.ts';
import type { RunLedger } from '../core/records/ledger.ts';
import type { PlannedArm } from '../core/records/plan.ts';
import { MAX_LEDGER_BYTES, sealLedger } from '../results/ledger.ts';
import type { SessionContext } from './context.ts';

/** Null for an arm whose engine has none, or that was planned without. */
export function ledgerFile(
  { folder }: Pick<SessionContext, 'folder'>,
  arm: PlannedArm,
  start: { readonly run: string; readonly attempt: number },
): string | null {
  if (arm.ledgerFlag === undefined) return null;
  mkdirSync(folder.ledgers, { recursive: true });
  return path.join(folder.ledgers, `${start.run}.${start.attempt}.jsonl`);
}

/** The same words for every arm, behind its own. */
export function argvWithLedger(arm: PlannedArm, file: string | null): readonly string[] {
  return arm.ledgerFlag === undefined || file === null ? arm.argv : [...arm.argv, arm.ledgerFlag, file];
}

export function refuseLedgerFlood(file: string | null): void {
  const bytes = file === null ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  if (bytes > MAX_LEDGER_BYTES)
    throw new EngineError('its ledger grew beyond 256 MiB', { phase: 'generate' });
}

/** Of the attempt that ended just now: the passes of its measured windows. */
export function keepLedger(
  { folder, journal }: Pick<SessionContext, 'folder' | 'journal'>,
  run: string,
  file: string | null,
): RunLedger | null {
  if (file === null) return null;
  const start = journal.events.findLastIndex((event) => event.type === 'run_start' && event.run === run);
  return sealLedger(folder, file, measuredRequests(journal.events.slice(start), run));
}

function measuredRequests(events: readonly JournalEvent[], run: string): Set<number> {
  const ids = events.flatMap((event) =>
    event.type === 'window' && event.run === run && event.kind === 'measure'
      ? (requestOf(event.result) ?? [])
      : [],
  );
  return new Set(ids);
}
