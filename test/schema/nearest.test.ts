// Nearest names: distances, and when to say nothing.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editDistance, nameHint, nearestName } from '../../src/schema/nearest.ts';

test('distances of known pairs', () => {
  expect(editDistance('kitten', 'sitting')).toBe(3);
  expect(editDistance('route-bias', 'rotue-bias')).toBe(1);
  expect(editDistance('', 'abc')).toBe(3);
  expect(editDistance('same', 'same')).toBe(0);
});

test('a distance is symmetric, 0 only for equal words, and at most the longer length', () => {
  const word = fc.string({ maxLength: 12 });
  fc.assert(
    fc.property(word, word, (a, b) => {
      const distance = editDistance(a, b);
      expect(editDistance(b, a)).toBe(distance);
      expect(distance === 0).toBe(a === b);
      expect(distance).toBeLessThanOrEqual(Math.max([...a].length, [...b].length));
    }),
  );
});

test('case, dashes and underscores are no distance', () => {
  const names = ['route-bias', 'route-bias-file', 'threads'];
  expect(nearestName('routeBias', names)).toBe('route-bias');
  expect(nearestName('route_bias_fil', names)).toBe('route-bias-file');
  expect(nearestName('--threads', names)).toBe('threads');
  expect(nearestName('thraeds', names)).toBe('threads');
});

test('a word that is near to nothing gets the list, or its length', () => {
  expect(nearestName('temperature', ['slots'])).toBeUndefined();
  expect(nameHint('zzz', ['slots', 'arena'])).toBe('valid: slots, arena');
  expect(
    nameHint(
      'zzz',
      Array.from({ length: 20 }, (_, i) => `name${i}`),
    ),
  ).toContain('… (20)');
  expect(nameHint('zzz', [])).toBe('none is valid here');
});
