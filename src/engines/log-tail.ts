// Owns the last lines of a log file, as a person should see them: no progress bars, no colours, not more than asked for.

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const TAIL_BYTES = 64 * 1024;
const MAX_LINE = 400;

/** Terminal control sequences (CSI and OSC). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;

export function cleanLines(text: string): string[] {
  return text
    .replace(CONTROL, '')
    .split(/[\r\n]+/)
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .map((line) => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line));
}

/** The last `count` lines; none when the file cannot be read. */
export function readLogTail(file: string, count = 40): string[] {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch {
    return [];
  }
  try {
    const { size } = fstatSync(descriptor);
    const buffer = Buffer.alloc(Math.min(size, TAIL_BYTES));
    const read = readSync(descriptor, buffer, 0, buffer.length, size - buffer.length);
    const lines = cleanLines(buffer.toString('utf8', 0, read));
    // The first line is cut when the file is longer than what was read.
    return (size > TAIL_BYTES ? lines.slice(1) : lines).slice(-count);
  } finally {
    closeSync(descriptor);
  }
}
