// JSON whose bytes depend on the content alone.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rounded, stableJson, stableJsonLine } from '../../src/core/stable-json.ts';

test('keys are sorted at every depth and the order of lists is kept', () => {
  expect(stableJson({ b: 1, a: [{ d: null, c: 'x' }, 2] })).toMatchInlineSnapshot(`
    "{
      "a": [
        {
          "c": "x",
          "d": null
        },
        2
      ],
      "b": 1
    }
    "
  `);
  expect(stableJsonLine({ b: -0, a: [] })).toBe('{"a":[],"b":0}');
});

test('the order in which an object was filled does not matter, and it reads back as it was', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
      const reversed = Object.fromEntries(Object.entries(object).reverse());
      const text = stableJson(object);
      expect(stableJson(reversed)).toBe(text);
      expect(stableJson(JSON.parse(text))).toBe(text);
    }),
  );
});

test('a number that JSON cannot carry is refused, with its place', () => {
  expect(() => stableJson({ arms: [{ tokPerSec: Number.NaN }] })).toThrow('$.arms[0].tokPerSec is NaN');
  expect(() => stableJson([Number.POSITIVE_INFINITY])).toThrow('$[0] is Infinity');
  expect(() => stableJson({ a: undefined })).toThrow('$.a is undefined');
  expect(() => stableJson({ a: 1n })).toThrow('$.a is bigint');
});

test('rounding hides the last bits only', () => {
  expect(rounded(0.1 + 0.2)).toBe(0.3);
  expect(rounded(123456.789012345)).toBe(123456.789012);
});
