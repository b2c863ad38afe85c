// The verdict for programs: all that the other forms show, without what only names the record.

import type { Verdict } from '../core/records/verdict.ts';
import { stableJson } from '../core/stable-json.ts';

/** `null` where a number is not known. */
export type ReportJson = Omit<Verdict, 'schemaVersion' | 'journalSha256'>;

export function reportJson({ schemaVersion: _, journalSha256: __, ...shown }: Verdict): ReportJson {
  return shown;
}

export function jsonReport(verdict: Verdict): string {
  return stableJson(reportJson(verdict));
}
