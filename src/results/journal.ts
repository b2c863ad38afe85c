// Owns the journal's file: appended to, synced, and mended after a crash. What the events mean is not its business.

import {
  appendFileSync,
  closeSync,
  existsSync,
  fdatasyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
} from 'node:fs';
import { InvalidRecordError } from '../core/errors.ts';
import type { JournalEvent } from '../core/records/journal.ts';
import { appendWhole, heedDisk } from './files.ts';
import { type ChainEnd, chainStart, readLine, sha256, writeLine } from './journal-line.ts';
import type { RunFolder } from './run-folder.ts';

export interface JournalContent {
  readonly events: readonly JournalEvent[];
  /** Over the bytes of all whole lines. */
  readonly sha256: string;
  /** Bytes after the last whole line: the write that a crash or a power cut broke off. */
  readonly tornBytes: number;
}

interface Parsed extends JournalContent {
  readonly end: ChainEnd;
  readonly wholeBytes: number;
}

const NEWLINE = 10;

function parse(folder: RunFolder): Parsed {
  const bytes = existsSync(folder.journal) ? readFileSync(folder.journal) : Buffer.alloc(0);
  const wholeBytes = bytes.lastIndexOf(NEWLINE) + 1;
  const whole = bytes.subarray(0, wholeBytes);
  const lines = whole.toString('utf8').split('\n').slice(0, -1);
  const events: JournalEvent[] = [];
  let end = chainStart(readPlanBytes(folder));
  for (const [index, line] of lines.entries()) {
    const read = readLine(line, end, `${folder.journal}:${index + 1}`);
    events.push(read.event);
    end = read.end;
  }
  return { events, end, wholeBytes, sha256: sha256(whole), tornBytes: bytes.length - wholeBytes };
}

function readPlanBytes(folder: RunFolder): Buffer {
  try {
    return readFileSync(folder.plan);
  } catch {
    throw new InvalidRecordError(`${folder.path}: there is no plan.json, so the journal cannot be believed`);
  }
}

/** For readers: changes nothing, and throws InvalidRecordError when a line or the plan was altered. */
export function readJournal(folder: RunFolder): JournalContent {
  const { events, sha256: hash, tornBytes } = parse(folder);
  return { events, sha256: hash, tornBytes };
}

export interface Journal extends Disposable {
  /** Everything so far, this session's events included. */
  readonly events: readonly JournalEvent[];
  /** Cut aside when the journal was opened. */
  readonly tornBytes: number;
  append(event: JournalEvent): void;
  /** Returns when everything appended is on the disk. Called at the end of a window, never inside one. */
  sync(): void;
}

/** Opens it to go on. A torn last line is moved to journal.torn: what it said is lost, and nothing else is. */
export function openJournal(folder: RunFolder): Journal {
  const found = parse(folder);
  const descriptor = openSync(folder.journal, 'a');
  if (found.tornBytes > 0) {
    appendFileSync(folder.torn, readFileSync(folder.journal).subarray(found.wholeBytes));
    ftruncateSync(descriptor, found.wholeBytes);
    fdatasyncSync(descriptor);
  }
  const events = [...found.events];
  let end = found.end;
  return {
    events,
    tornBytes: found.tornBytes,
    append(event) {
      const written = writeLine(event, end);
      appendWhole(descriptor, `${written.line}\n`, folder.journal);
      end = written.end;
      events.push(event);
    },
    sync: () => heedDisk(folder.journal, () => fdatasyncSync(descriptor)),
    [Symbol.dispose]: () => closeSync(descriptor),
  };
}
