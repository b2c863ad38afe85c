// Owns the shape of one line of the journal: an event with its number and the hash that chains it to everything before it.
// Text in, text out; opens no file.

import { createHash } from 'node:crypto';
import { InvalidRecordError } from '../core/errors.ts';
import type { JournalEvent } from '../core/records/journal.ts';
import { stableJsonLine } from '../core/stable-json.ts';

/** Where the next line joins: how many lines there are, and the hash of the last (of the plan before the first). */
export interface ChainEnd {
  readonly seq: number;
  readonly hash: string;
}

export function sha256(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The chain starts at the plan, so that a plan that was altered later breaks every line. */
export function chainStart(planBytes: Buffer): ChainEnd {
  return { seq: 0, hash: sha256(planBytes) };
}

const TAIL = /^(.*),"h":"([0-9a-f]{64})"\}$/s;

/**
 * `{…event…,"seq":N,"h":"…"}`: the hash is over the hash before and over the very bytes of the line up to the `"h"` key, so that
 * checking it never depends on how anybody writes numbers.
 */
export function writeLine(
  event: JournalEvent,
  end: ChainEnd,
): { readonly line: string; readonly end: ChainEnd } {
  const object = stableJsonLine(event);
  const content = `${object.slice(0, -1)},"seq":${end.seq}`;
  const hash = sha256(end.hash + content);
  return { line: `${content},"h":"${hash}"}`, end: { seq: end.seq + 1, hash } };
}

const EVENT_TYPES: ReadonlySet<unknown> = new Set<JournalEvent['type']>([
  'session',
  'ceiling',
  'run_start',
  'ready',
  'warmup_end',
  'window',
  'score',
  'gap',
  'run_end',
  'interrupted',
  'aborted',
  'block_spoilt',
  'calibration',
  'background_start',
  'background_end',
  'decision',
  'session_end',
]);

export function readLine(
  line: string,
  end: ChainEnd,
  where: string,
): { readonly event: JournalEvent; readonly end: ChainEnd } {
  const altered = (what: string): InvalidRecordError =>
    new InvalidRecordError(`${where}: ${what}: the record was altered after it was written`);
  const parts = TAIL.exec(line);
  const [, content = '', hash = ''] = parts ?? [];
  if (parts === null) throw altered('the line has no hash');
  if (sha256(end.hash + content) !== hash) throw altered('the hash does not match');
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(`${content}}`);
  } catch {
    throw altered('the line is not JSON');
  }
  if (value['seq'] !== end.seq)
    throw altered(`expected line number ${end.seq}, found ${String(value['seq'])}`);
  if (!EVENT_TYPES.has(value['type'])) throw altered(`unknown event "${String(value['type'])}"`);
  const { seq: _, ...event } = value;
  // The hash proves that Rota wrote these bytes from a JournalEvent.
  return { event: event as unknown as JournalEvent, end: { seq: end.seq + 1, hash } };
}
