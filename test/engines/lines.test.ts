// The cut of a byte stream into lines, at every chunk border.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLineSplitter } from '../../src/engines/lines.ts';

function split(
  chunks: readonly Buffer[],
  maxBytes = 1000,
): { lines: string[]; tooLong: string[]; torn: string | null } {
  const lines: string[] = [];
  const tooLong: string[] = [];
  const splitter = createLineSplitter({
    maxBytes,
    onLine: (line) => lines.push(line.toString('utf8')),
    onTooLong: (beginning) => tooLong.push(beginning.toString('utf8')),
  });
  for (const chunk of chunks) splitter.push(chunk);
  const torn = splitter.end();
  return { lines, tooLong, torn: torn === null ? null : torn.toString('utf8') };
}

/** The bytes in chunks that end at the given places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const borders = [
    0,
    ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b),
    bytes.length,
  ];
  return borders.slice(1).map((end, i) => bytes.subarray(borders[i], end));
}

test('LF, CR and CR LF end a line; empty lines are none', () => {
  expect(split([Buffer.from('a\nb\rc\r\n\n\r\rd')])).toEqual({
    lines: ['a', 'b', 'c'],
    tooLong: [],
    torn: 'd',
  });
});

test('lines do not depend on the chunks, nor do characters of several bytes', () => {
  const line = fc.string({
    unit: fc.constantFrom('a', '{', '"', '语', '😀', 'é'),
    minLength: 1,
    maxLength: 20,
  });
  const end = fc.constantFrom('\n', '\r\n', '\r');
  fc.assert(
    fc.property(fc.array(fc.tuple(line, end)), fc.array(fc.nat(500)), (parts, places) => {
      const bytes = Buffer.from(parts.map(([text, mark]) => text + mark).join(''));
      expect(split(cut(bytes, places))).toEqual({
        lines: parts.map(([text]) => text),
        tooLong: [],
        torn: null,
      });
    }),
  );
});

test('a line that is too long is told once by its beginning, and the next line is whole', () => {
  const bytes = Buffer.from(`${'x'.repeat(5000)}\nnext\n${'y'.repeat(101)}\n${'z'.repeat(100)}\n`);
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length)), (places) => {
      const result = split(cut(bytes, places), 100);
      expect(result.lines).toEqual(['next', 'z'.repeat(100)]);
      expect(result.tooLong).toHaveLength(2);
      expect(result.torn).toBeNull();
      for (const beginning of result.tooLong) expect(beginning.length).toBeLessThanOrEqual(200);
    }),
    { numRuns: 50 },
  );
});
