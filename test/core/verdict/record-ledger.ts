// A made-up ledger whose sums agree with the answers of a record; only its milliseconds are a parameter.

import { requestOf } from '../../../src/core/counters/raw-answer.ts';
import type { PassMs, RunLedger } from '../../../src/core/records/ledger.ts';
import type { Window } from '../../../src/core/verdict/replay.ts';
import type { RecordOptions } from './record.ts';

/** As an engine numbers its answers. */
export function numbered(windows: readonly Window[]): Window[] {
  return windows.map((window, id) => ({ ...window, result: { ...window.result, raw: { id } } }));
}

/** The sums that agree with the answers of the measured windows. */
export function ledgerOf(
  windows: readonly Window[],
  at: { readonly arm: string; readonly block: number },
  msOf: NonNullable<RecordOptions['ledger']>,
): RunLedger {
  const unknown: PassMs = {
    total: null,
    draft: null,
    dense: null,
    experts: null,
    pool: null,
    fileWait: null,
  };
  return {
    file: 'ledger/run.jsonl.br',
    sha256: 'hash',
    lines: 1,
    tornBytes: 0,
    windows: windows
      .filter(({ kind }) => kind === 'measure')
      .map(({ result, class: name }) => {
        const { passes, rows, offered, accepted, bySource, bytes } = result.counters;
        const ms = { ...unknown, ...msOf({ ...at, class: name }) };
        const request = requestOf(result) ?? -1;
        return { request, passes: passes ?? 0, rows, offered, accepted, bySource, bytes, ms };
      }),
  };
}
