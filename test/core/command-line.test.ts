// A command as a person would type it.

import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { commandLine } from '../../src/core/command-line.ts';

test('plain words stay plain, others are quoted, variables come first by name', () => {
  expect(
    commandLine(['bin/x', '--slots', '25%', 'a b', "it's", ''], { Z: '1', A: 'x y' }),
  ).toMatchInlineSnapshot(`"A='x y' Z=1 bin/x --slots 25% 'a b' 'it'\\''s' ''"`);
});

test('a shell reads back the words', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.string({ unit: 'binary' }).filter((s) => !s.includes('\0')),
        { minLength: 1, maxLength: 4 },
      ),
      (words) => {
        const printed = commandLine(['printf', '%s\\0', ...words], {});
        const out = execFileSync('/bin/sh', ['-c', printed]).toString('utf8');
        expect(out).toBe(words.map((word) => `${Buffer.from(word).toString('utf8')}\0`).join(''));
      },
    ),
    { numRuns: 25 },
  );
});
