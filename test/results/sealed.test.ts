// Lines that nobody adds to any more: the same again, smaller, and never half of them.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InvalidRecordError } from '../../src/core/errors.ts';
import { createRng } from '../../src/core/rng.ts';
import { pack, unpack } from '../../src/results/sealed.ts';

test('any lines come back; what repeats itself over megabytes takes its room once', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (lines) => {
      const text = Buffer.from(lines.map((line) => `${line}\n`).join(''));
      expect(unpack(pack(text), 'x').equals(text)).toBe(true);
    }),
  );
  const rng = createRng(1);
  const noise = Buffer.from(Array.from({ length: 200_000 }, () => 32 + rng.int(64)));
  const once = pack(noise).length;
  expect(pack(Buffer.concat([noise, Buffer.alloc(2 ** 20), noise])).length).toBeLessThan(once * 1.05);
  const huge = Buffer.from('a line of a journal\n'.repeat(500_000));
  expect(unpack(pack(huge), 'x').equals(huge)).toBe(true);
  expect(() => unpack(pack(Buffer.from('half a line')), 'x')).toThrow(InvalidRecordError);
});
