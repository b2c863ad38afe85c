// Owns what an engine's log looked like, numbers left out: a trace that a knob may leave besides counters and tokens.

import { closeSync, openSync, readSync } from 'node:fs';
import { sha256 } from '../results/journal-line.ts';

/** The first part of a log tells of knobs; what floods later is not read. */
const MAX_BYTES = 1 << 20;

/**
 * sha256 over its kinds of lines: numbers and hexadecimal words replaced, each kind once, in order. Two starts with the same settings
 * print the same kinds of lines, however often. Null when there is no such file.
 */
export function logShapeSha256(file: string): string | null {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch {
    return null;
  }
  try {
    const bytes = Buffer.allocUnsafe(MAX_BYTES);
    const read = readSync(descriptor, bytes, 0, MAX_BYTES, 0);
    // A line that is cut would be a kind of its own, another one wherever it is cut.
    const whole = read < MAX_BYTES ? read : bytes.lastIndexOf('\n') + 1;
    return logShape(bytes.toString('utf8', 0, whole));
  } finally {
    closeSync(descriptor);
  }
}

export function logShape(text: string): string {
  const kinds = text
    .split(/\r?\n|\r/)
    .map((line) =>
      line.trim().replaceAll(/\b(?=[0-9a-f]*\d)[0-9a-f]{6,}\b|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi, '#'),
    )
    .filter((line) => line !== '');
  return sha256([...new Set(kinds)].sort().join('\n'));
}
