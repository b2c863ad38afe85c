// Owns the bound on an engine's log: a flood costs no disk. The engine writes to the file by itself, so the file is cut, not the
// stream: its beginning and its newest lines stay, and a line between them says what is missing. Knows no engine.

import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';

export interface LogBound {
  /** Cuts the file when it is too long. */
  check(): void;
  /** Checks from time to time until it is stopped. */
  [Symbol.dispose](): void;
}

/** A load of hours with a line a second is far below this. */
export const MAX_LOG_BYTES = 64 * 1024 * 1024;
const HEAD_BYTES = 256 * 1024;
/** One stat a second: nothing that a window could notice. */
const PERIOD_MS = 1000;

/** The first bytes of a file, up to the end of a line. */
function readHead(descriptor: number): Buffer {
  const buffer = Buffer.alloc(HEAD_BYTES);
  const head = buffer.subarray(0, readSync(descriptor, buffer, 0, HEAD_BYTES, 0));
  const end = head.lastIndexOf(10);
  return end < 0 ? head : head.subarray(0, end + 1);
}

/** What the engine writes while this works is lost with the rest: its descriptor appends at whatever end the file has. */
function cut(descriptor: number, bytes: number, state: { head: Buffer | null; cutBytes: number }): void {
  state.head ??= readHead(descriptor);
  state.cutBytes += bytes - state.head.length;
  const note = `rota: the engine floods its log; ${state.cutBytes} bytes were cut here\n`;
  ftruncateSync(descriptor, 0);
  writeSync(descriptor, Buffer.concat([state.head, Buffer.from(note)]), 0, undefined, 0);
}

export function boundLog(file: string, maxBytes = MAX_LOG_BYTES): LogBound {
  const state = { head: null as Buffer | null, cutBytes: 0 };
  const check = (): void => {
    let descriptor: number;
    try {
      descriptor = openSync(file, 'r+');
    } catch {
      return; // Removed by somebody: nothing grows any more that could be seen.
    }
    try {
      const { size } = fstatSync(descriptor);
      if (size > maxBytes) cut(descriptor, size, state);
    } finally {
      closeSync(descriptor);
    }
  };
  const timer = setInterval(check, PERIOD_MS).unref();
  return { check, [Symbol.dispose]: () => clearInterval(timer) };
}
